"""A certification as a job: its inputs, the worker that certifies them, the report of the certificates."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from unfooled.api.target import Opens
from unfooled.certificates.certifier import IN_FLIGHT, Certifier
from unfooled.certificates.sampling import Reading, Sampling
from unfooled.errors import UserError
from unfooled.files import MEASURE_AGAIN, in_shape, read_json
from unfooled.records.certificate import REFUSED, Certificate
from unfooled.records.results.certificate_report import CertificateReport
from unfooled.records.results.result import reuse
from unfooled.records.shapes.result_shapes import CertificatesShape
from unfooled.records.summaries.certificate_summary import certificate_summary
from unfooled.storage.journal import Journal, Key, fingerprint
from unfooled.storage.kept import JOURNAL, Kept, read_kept
from unfooled.work.executor import Piece
from unfooled.work.job import Job, Record

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from unfooled.models import Unreadable

REPORT = "certificate.json"
TABLE = "certificates"
REPEATED = (
    "this input was certified before with fewer draws; choosing among such certificates is peeking, for "
    "which alpha does not hold (use --adaptive)"
)
GROUP = 256
"""Inputs that are read and certified together, at most: memory, not results, depend on it."""


@dataclass(frozen=True)
class Item:
    """One input: its row, what the model reads, and its label's name if that is known."""

    row: int
    own: tuple[str, ...] | Tensor | NDArray[Any] | Unreadable
    """A text or two, the values of a tensor, the pixels of an image; or why there is no image."""
    truth: str | tuple[str, ...] | None = None
    """Of a question: all right answers, none if it has no answer."""
    repeated: bool = False
    """Whether the journal has a certificate of it with fewer draws."""

    def told(self) -> dict[str, object]:
        """Which input it is, for the journal's key."""
        if isinstance(self.own, tuple):
            return {"texts": self.own}
        import torch

        from unfooled.models import Unreadable
        from unfooled.models.tensor import EncodedTensor

        if isinstance(self.own, Unreadable):
            return {"unreadable": self.own.shown, "why": self.own.reason}

        values = self.own if isinstance(self.own, torch.Tensor) else torch.tensor(self.own)
        return {"tensor": EncodedTensor(values).digest()}


@dataclass(frozen=True)
class CertifierOpening:
    """How a certifier is made in another process; it must turn out to be the same one."""

    classifier: Opens
    threat: str
    sampling: Sampling
    bounds: Sequence[str]
    reading: Reading
    conditions: Mapping[str, object]

    def open(self) -> Certifier:
        made = Certifier(
            self.classifier.open_classifier(),
            self.threat,
            sampling=self.sampling,
            bounds=self.bounds,
            reading=self.reading,
        )
        found = made.conditions()
        differ = [name for name in found if found[name] != self.conditions.get(name)]
        if differ:
            raise UserError(
                f"A worker would certify something else: {', '.join(differ)} differ. Install the same "
                "version of unfooled and the same files on every machine."
            )
        return made


@dataclass(frozen=True)
class CertifySpec:
    """What a worker needs to certify inputs."""

    certifier: CertifierOpening | Certifier
    seed: int
    in_flight: int = IN_FLIGHT
    """Inputs that are drawn for together. With one, a budget that ends loses the draws of one input."""

    def open(self, at_once: int) -> CertifyWorker:
        own = self.certifier
        certifier = own if isinstance(own, Certifier) else own.open()
        return CertifyWorker(certifier.with_seed(self.seed), min(GROUP, at_once), self.in_flight)


@dataclass(frozen=True)
class CertifyWorker:
    """Certifies inputs, a group after the other."""

    certifier: Certifier
    group: int
    in_flight: int

    def run(self, pieces: Iterator[Piece]) -> Iterator[Piece]:
        while group := list(islice(pieces, self.group)):
            for number, certificate in self.certifier.certify(
                [item.own for _, item in group], in_flight=self.in_flight
            ):
                place, item = group[number]
                yield place, completed(certificate, item).to_dict()


def certify_job(items: Sequence[Item], refused: Sequence[Certificate], conditions: str) -> Job[Item]:
    """The inputs to certify; ``conditions`` is the fingerprint of all else that a certificate depends on."""

    def key(item: Item) -> Key:
        return fingerprint({"conditions": conditions, **item.told(), "label": item.truth}), item.row

    return Job(
        items=items,
        key=key,
        name=lambda item: f"row {item.row}",
        settled=[(key(Item(one.row, one.texts, one.truth)), one.to_dict()) for one in refused],
    )


@dataclass(frozen=True)
class CertifyProgress:
    """How far a certification is."""

    done: int
    total: int
    certified: int
    samples: int
    queries: int = 0
    """Texts that a black box was asked about."""


class CertifyTally:
    """Counts certificates as they come."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = self._certified = self._samples = 0

    def take(self, record: Record) -> None:
        self._done += 1
        self._certified += record["status"] == "certified"
        self._samples += record["samples"]

    @property
    def progress(self) -> CertifyProgress:
        return CertifyProgress(self._done, self._total, self._certified, self._samples)


def certificate_report(
    certificates: Kept[Certificate], about: Mapping[str, object], *, total: int, settled: int
) -> CertificateReport:
    """The report of the certificates there are, of ``total``; ``settled`` rows could not be read."""
    details = {
        **about,
        "complete": len(certificates) == total,
        "reuse": reuse(certificates.reused, len(certificates) - settled),
        "journal": certificates.where(),
    }
    return CertificateReport(certificate_summary(certificates), certificates, details)


class SecretSeed(TypedDict):
    """What the journal keeps of a seed that was drawn."""

    seed: int


def secret_seed(journal: Journal, conditions: Mapping[str, object]) -> int:
    """A seed that nobody could know before; the journal keeps it, and the same work goes on with it."""
    key = fingerprint({"secret seed": conditions})
    journal.add(key, 0, {"seed": secrets.randbits(63)})  # the one that is there stays
    kept: SecretSeed = in_shape(journal.get(key, 0), SecretSeed, f"{journal.path}: the secret seed")
    return kept["seed"]


def completed(certificate: Certificate, item: Item) -> Certificate:
    """With its row, a mark if the input was certified before and, if that is known, whether it is right."""
    found = replace(certificate, row=item.row)
    if item.repeated and found.status != REFUSED:
        message = "; ".join(filter(None, (found.message, REPEATED)))
        found = replace(found, repeated=True, message=message)
    if isinstance(item.truth, tuple):
        return found.with_right_answers(item.truth)
    return found if item.truth is None else found.with_truth(item.truth)


def refused_row(row: int, texts: tuple[str, ...], threat: str, message: str) -> Certificate:
    """A row of a file that cannot be read."""
    return Certificate(row, REFUSED, threat, texts=texts, message=message)


def read_certificates(folder: str | Path) -> CertificateReport:
    """A report that was kept, with its certificates."""
    saved = read_json(Path(folder) / REPORT, CertificatesShape, remedy=MEASURE_AGAIN)
    certificates = read_kept(Path(folder) / JOURNAL, TABLE, saved["journal"], Certificate.from_dict)
    summary = saved.pop("summary")
    return CertificateReport(summary, certificates, saved)
