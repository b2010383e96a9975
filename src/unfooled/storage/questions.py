"""The question that results answer: everything they depend on, and what was asked, in order.

Two questions under the same conditions may be the same, or one may ask for more: its lists begin with those
of the other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from unfooled.errors import UserError
from unfooled.files import JsonMapping, JsonObject, read_json
from unfooled.storage.journal import fingerprint

FORMAT = 1
QUESTION = "question.json"
_DIGITS = 10
"""Hexadecimal digits that tell one input from another at the same place of a list."""
_SHOWN = 3
_SAID = {
    "victim.unknown": "the victim does not say which it is, so it may be another one",
    "victim.weights": "other weights",
    "classifier.weights": "other weights",
}

Relation = Literal["same", "larger", "part", "other"]


@dataclass(frozen=True)
class Question:
    """What a result set answers."""

    kind: str
    """The verb: attack, certify, repeat, represent."""
    conditions: JsonMapping
    asked: Mapping[str, Sequence[str]]
    """Names of lists, and a digest of each of their members; see :func:`digests`."""
    source: str = ""
    """Where the inputs come from, in words; the same inputs from elsewhere are the same question."""

    def to_dict(self) -> JsonObject:
        lists = {name: {"count": len(own), "digests": " ".join(own)} for name, own in self.asked.items()}
        about = {"format": FORMAT, "kind": self.kind, "source": self.source}
        return about | {"conditions": dict(self.conditions), "asked": lists}

    def relation(self, kept: Question) -> Relation:
        """How this question stands to the one that a set has answered."""
        if self.kind != kept.kind or _plain(self.conditions) != _plain(kept.conditions):
            return "other"
        more, less = _covers(self.asked, kept.asked), _covers(kept.asked, self.asked)
        return "same" if more and less else "larger" if more else "part" if less else "other"

    def difference(self, kept: Question) -> str:
        """In what this question differs from another one, in words."""
        if self.kind != kept.kind:
            return f"results of {kept.kind}, not of {self.kind}"
        found = list(differences(_plain(kept.conditions), _plain(self.conditions), _SAID))
        if not _covers(self.asked, kept.asked) and not _covers(kept.asked, self.asked):
            moved = self.source != kept.source
            found.insert(0, f"inputs: {kept.source} → {self.source}" if moved else "other inputs")
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        return ", ".join(found[:_SHOWN]) + more


def digests(members: Iterable[JsonMapping]) -> list[str]:
    """A short digest of each member of a list."""
    return [fingerprint(one)[:_DIGITS] for one in members]


def numbers(count: int) -> list[str]:
    """The list of what is only counted, such as repeats."""
    return [str(number) for number in range(count)]


def read_question(folder: Path) -> Question | None:
    """The question of a result set; None if the folder has none."""
    file = folder / QUESTION
    if not file.is_file():
        return None
    found = read_json(file)
    try:
        if found["format"] != FORMAT:
            raise ValueError(f"format {found['format']} is not known")
        lists = {str(key): str(own["digests"]).split() for key, own in found["asked"].items()}
        return Question(str(found["kind"]), dict(found["conditions"]), lists, str(found["source"]))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise UserError(
            f"{file} is damaged ({reason}). Copy the folder again, or choose another name with --name."
        ) from error


def differences(before: object, now: object, said: Mapping[str, str] = {}, name: str = "") -> Iterator[str]:
    """``sampling.n: 100 → 200`` for every value that is not the same; ``said`` has words for some of them."""
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys([*before, *now]):
            yield from differences(before.get(key), now.get(key), said, f"{name}.{key}" if name else key)
    elif before != now:
        yield said.get(name) or f"{name}: {_short(before)} → {_short(now)}"


def _short(value: object) -> str:
    """A value in a message; of a digest the beginning is enough."""
    text = str(value)
    return f"{text[:8]}…" if re.fullmatch(r"[0-9a-f]{32,}", text) else text


def _covers(large: Mapping[str, Sequence[str]], small: Mapping[str, Sequence[str]]) -> bool:
    """Whether every list of ``small`` is the beginning of that of ``large``."""
    return all(list(large.get(name, ()))[: len(own)] == list(own) for name, own in small.items())


def _plain(conditions: JsonMapping) -> JsonObject:
    """As a JSON file gives them back."""
    plain: JsonObject = json.loads(json.dumps(conditions))
    return plain
