"""Which rows a run was trained, selected and tested on: a salted digest per row instead of the texts.

A digest is made of the text without case and spacing (of both texts of a pair, of a question and its
context), or of the pixels of an image, as duplicates are found. Each run has a salt of its own, stored beside
the digests: no table made in advance tells the texts, and two runs cannot be compared. Who has a text and the
run can tell whether it was a training row: that is the use.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from unfooled.data.images.image_rows import ImageRows
from unfooled.data.qa.question_rows import QuestionRows
from unfooled.data.rows import Rows
from unfooled.files import JsonMapping, JsonObject

AnyRows = TypeVar("AnyRows", Rows, ImageRows, QuestionRows)
SPLITS = ("train", "dev", "test")
BYTES = 8
"""Of a digest. Two of a million rows are equal by chance once in 40 million runs."""


@dataclass(frozen=True)
class RowFingerprints:
    """The digests of each split, in the order of its rows."""

    salt: bytes
    splits: Mapping[str, tuple[bytes, ...]]

    @classmethod
    def of(
        cls,
        rows: Mapping[str, Rows] | Mapping[str, ImageRows] | Mapping[str, QuestionRows],
        salt: bytes | None = None,
    ) -> RowFingerprints:
        """Those of the rows of each split; of questions, after them those of their paragraphs."""
        salt = secrets.token_bytes(16) if salt is None else salt
        found = {}
        for name in SPLITS:
            own = rows[name]
            groups = own.group_keys() if isinstance(own, QuestionRows) else []
            found[name] = (*_digests(own, salt), *_digests_of(groups, salt))
        return cls(salt, found)

    def which(self, rows: Rows | ImageRows, split: str) -> list[bool]:
        """Of each row, whether it is in the split."""
        return self._are_in(split, _digests(rows, self.salt))

    def which_paragraphs(self, rows: QuestionRows, split: str) -> list[bool]:
        """Of each question, whether the split has a question on its paragraph."""
        return self._are_in(split, _digests_of(rows.paragraphs, self.salt))

    def _are_in(self, split: str, digests: list[bytes]) -> list[bool]:
        known = set(self.splits[split])
        return [digest in known for digest in digests]

    def pick(self, rows: AnyRows, split: str) -> AnyRows:
        """Those of ``rows`` that are in the split, in its order; wherever they stand now."""
        places: dict[bytes, list[int]] = defaultdict(list)
        for place, digest in enumerate(_digests(rows, self.salt)):
            places[digest].append(place)
        for found in places.values():
            found.reverse()
        return rows.take([places[one].pop() for one in self.splits[split] if places.get(one)])

    def to_dict(self) -> JsonObject:
        digests = {name: base64.b64encode(b"".join(own)).decode() for name, own in self.splits.items()}
        return {"salt": self.salt.hex(), "digest_bytes": BYTES, **digests}

    @classmethod
    def from_dict(cls, saved: JsonMapping) -> RowFingerprints:
        """What :meth:`to_dict` gave; ValueError, KeyError or TypeError if it is something else."""
        if saved["digest_bytes"] != BYTES:
            raise ValueError(f"digests of {saved['digest_bytes']!r} bytes")
        splits = {}
        for name in SPLITS:
            joined = base64.b64decode(saved[name], validate=True)
            if len(joined) % BYTES:
                raise ValueError(f"the digests of {name} are cut off")
            splits[name] = tuple(joined[at : at + BYTES] for at in range(0, len(joined), BYTES))
        return cls(bytes.fromhex(saved["salt"]), splits)


def _digests(rows: Rows | ImageRows | QuestionRows, salt: bytes) -> list[bytes]:
    return _digests_of(rows.keys if isinstance(rows, ImageRows) else rows.keys(), salt)


def _digests_of(keys: Iterable[str], salt: bytes) -> list[bytes]:
    texts = (key.encode("utf-8", "surrogatepass") for key in keys)
    return [hashlib.blake2b(text, key=salt, digest_size=BYTES).digest() for text in texts]
