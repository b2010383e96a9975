"""The inputs of one certification, their certificates in the journal, and the report made of them."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unfooled.files import read_json
from unfooled.records.certificate import REFUSED, Certificate
from unfooled.records.certificate_report import CertificateReport
from unfooled.records.certificate_summary import certificate_summary
from unfooled.storage.journal import Journal, fingerprint
from unfooled.storage.kept import JOURNAL, kept_records, read_kept

if TYPE_CHECKING:
    from torch import Tensor

REPORT = "certificate.json"
TABLE = "certificates"


@dataclass(frozen=True)
class Item:
    """One input: its row, what the model reads, and its label's name if that is known."""

    row: int
    own: tuple[str, ...] | Tensor
    """A text or two, or the values of a tensor."""
    truth: str | None = None

    def told(self) -> dict[str, Any]:
        """Which input it is, for the journal's key."""
        if isinstance(self.own, tuple):
            return {"texts": self.own}
        from unfooled.models.tensor import EncodedTensor

        return {"tensor": EncodedTensor(self.own).digest()}


@dataclass(frozen=True)
class CertifyProgress:
    """How far a certification is."""

    done: int
    total: int
    certified: int
    samples: int


class CertifyWork:
    """The inputs of one certification and the certificates there are."""

    def __init__(self, items: Sequence[Item], refused: Sequence[Certificate], conditions: str) -> None:
        self._conditions = conditions
        self.items = list(items)
        self._keys = [self._key(item) for item in items]
        self._refused = {self._key(Item(one.row, one.texts, one.truth)): one for one in refused}
        self._order = [*self._keys, *self._refused]
        self._done: dict[tuple[str, int], Certificate] = {}

    def resume(self, journal: Journal) -> list[int]:
        """Take over what the journal holds; the numbers of the inputs that are left."""
        self._listed = journal.write_list(lambda: self._order)
        for key, certificate in self._refused.items():
            journal.add(*key, certificate.to_dict())
            self._done[key] = certificate
        left = []
        for number, key in enumerate(self._keys):
            found = journal.get(*key)
            if found is None:
                left.append(number)
            else:
                self._done[key] = Certificate.from_dict(found)
        return left

    def keep(self, journal: Journal, number: int, certificate: Certificate) -> None:
        key = self._keys[number]
        journal.add(*key, certificate.to_dict())
        self._done[key] = certificate

    @property
    def progress(self) -> CertifyProgress:
        made = self._done.values()
        return CertifyProgress(
            done=len(self._done),
            total=len(set(self._order)),
            certified=sum(one.status == "certified" for one in made),
            samples=sum(one.samples for one in made),
        )

    def report(self, journal: Journal, about: Mapping[str, Any]) -> CertificateReport:
        certificates = kept_records(journal, self._listed, Certificate.from_dict)
        complete = len(certificates) == len(self._order)
        details = {**about, "complete": complete, "journal": certificates.where()}
        return CertificateReport(certificate_summary(certificates), certificates, details)

    def _key(self, item: Item) -> tuple[str, int]:
        told = {"conditions": self._conditions, **item.told(), "label": item.truth}
        return fingerprint(told), item.row


def secret_seed(journal: Journal, conditions: Mapping[str, Any]) -> int:
    """A seed that nobody could know before; the journal keeps it, and the same work goes on with it."""
    key = fingerprint({"secret seed": conditions})
    journal.add(key, 0, {"seed": secrets.randbits(63)})  # the one that is there stays
    return int(journal.read(key)[0]["seed"])


def completed(certificate: Certificate, item: Item) -> Certificate:
    """With the row of its input and, if that is known, whether it is right."""
    found = replace(certificate, row=item.row)
    return found if item.truth is None else found.with_truth(item.truth)


def refused_row(row: int, texts: tuple[str, ...], threat: str, message: str) -> Certificate:
    """A row of a file that cannot be read."""
    return Certificate(row, REFUSED, threat, texts=texts, message=message)


def read_certificates(folder: str | Path) -> CertificateReport:
    """A report that was kept, with its certificates."""
    saved = read_json(Path(folder) / REPORT)
    certificates = read_kept(Path(folder) / JOURNAL, TABLE, saved["journal"], Certificate.from_dict)
    summary = saved.pop("summary")
    return CertificateReport(summary, certificates, saved)
