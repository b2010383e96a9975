"""All of WordNet's pairs, read straight from its files in seconds: senses with their counts, antonyms.

``index.sense`` gives each sense's synset, its rank among the word's senses and how often it was found in
tagged text; the pointers ``!`` of ``data.*`` are the antonyms. The formats are those of wndb(5WN) and
senseidx(5WN).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from unfooled import assets

_SINGLE = re.compile(r"[a-z]+(['-][a-z]+)*")
_CLASSES = ("NOUN", "VERB", "ADJ", "ADV", "ADJ")  # by the sense key's first digit; 5 is a satellite
_DATA = {"NOUN": "data.noun", "VERB": "data.verb", "ADJ": "data.adj", "ADV": "data.adv"}


@dataclass(frozen=True, slots=True)
class Sense:
    """One word in one synset: ``rank`` 1 is its commonest sense, ``count`` its occurrences in SemCor."""

    lemma: str
    pos: str
    rank: int
    count: int


def synonymous_senses() -> Iterator[tuple[Sense, Sense]]:
    """Every two single-word senses of one synset."""
    for members in _synsets().values():
        yield from itertools.combinations([s for s in members if _SINGLE.fullmatch(s.lemma)], 2)


def antonymous_lemmas() -> Iterator[tuple[str, str, str]]:
    """Every two single words that are antonyms, the alphabetically first one first, and their class."""
    for pos, name in _DATA.items():
        records = dict(_records(_folder() / name))
        for words, pointers in records.values():
            for symbol, target, _, ends in zip(*[iter(pointers)] * 4, strict=True):
                if symbol != "!":
                    continue
                first = words[int(ends[:2], 16) - 1]
                second = records[target][0][int(ends[2:], 16) - 1]
                if first < second and _SINGLE.fullmatch(first) and _SINGLE.fullmatch(second):
                    yield first, second, pos


@cache
def occurrences() -> dict[str, int]:
    """How often each lemma was found in tagged text, in any sense and class."""
    totals: dict[str, int] = {}
    for members in _synsets().values():
        for sense in members:
            totals[sense.lemma] = totals.get(sense.lemma, 0) + sense.count
    return totals


@cache
def _synsets() -> dict[tuple[str, str], list[Sense]]:
    members: dict[tuple[str, str], list[Sense]] = {}
    with (_folder() / "index.sense").open(encoding="ascii") as lines:
        for line in lines:
            key, offset, rank, count = line.split()
            lemma, _, rest = key.partition("%")
            pos = _CLASSES[int(rest[0]) - 1]
            members.setdefault((pos, offset), []).append(Sense(lemma, pos, int(rank), int(count)))
    return members


def _records(path: Path) -> Iterator[tuple[str, tuple[list[str], list[str]]]]:
    """Each synset's offset, its words (lower case, without the adjective marker), its pointers' fields."""
    with path.open(encoding="ascii") as lines:
        for line in lines:
            if line.startswith(" "):  # the licence
                continue
            fields = line.partition("|")[0].split()
            end = 4 + 2 * int(fields[3], 16)
            words = [word.partition("(")[0].lower() for word in fields[4:end:2]]
            yield fields[0], (words, fields[end + 1 : end + 1 + 4 * int(fields[end])])


def _folder() -> Path:
    return assets.path("wordnet") / "corpora" / "wordnet"
