"""Which inputs a run has certificates of that were made with fewer draws: running again is peeking.

A certificate of n draws is wrong with probability at most α; the best of several, with more draws each time,
is wrong more often. So a journal remembers with how many draws each input was certified, and later
certificates with more are marked, also in another result set of the run. A confidence sequence
(``adaptive``) that goes on with the same seed holds at every number of draws, and is not marked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict

from unfooled.api.jobs.certify_job import TABLE, Item
from unfooled.certificates.sampling import Sampling
from unfooled.files import in_shape
from unfooled.records.certificate import REFUSED
from unfooled.storage.journal import JOURNAL_REMEDY, Journal, fingerprint, read_journal
from unfooled.storage.kept import JOURNAL


class DrawnSeeds(TypedDict):
    """What the journal keeps of an input and a number of draws."""

    seeds: list[int]


class EarlierDraws:
    """The numbers of draws that a journal has seen of inputs, under conditions alike in all else."""

    def __init__(
        self,
        journal: Journal,
        conditions: Mapping[str, Any],
        sampling: Sampling,
        seed: int,
        others: Sequence[Path] = (),
    ) -> None:
        told = {key: value for key, value in conditions["sampling"].items() if key not in ("n", "n0")}
        self._alike = fingerprint({"draws": {**conditions, "sampling": told}})
        self._journal, self._draws, self._seed = journal, sampling.n, seed
        self._goes_on = sampling.adaptive and sampling.radius is None
        self._keys: dict[int, str] = {}
        self._others = [path for folder in others if (path := folder / JOURNAL).is_file()]

    def marked(self, items: Sequence[Item]) -> list[Item]:
        """The inputs, those with certificates of fewer draws marked."""
        found = []
        with ExitStack() as stack:
            others = [stack.enter_context(read_journal(path, TABLE)) for path in self._others]
            for item in items:
                self._keys[item.row] = key = fingerprint({"conditions": self._alike, **item.told()})
                journals = (self._journal, *others)
                earlier = [one for own in journals for one in own.read(key, below=self._draws).values()]
                seeds = {seed for one in earlier for seed in self._seeds(one)}
                repeated = bool(seeds - {self._seed} if self._goes_on else seeds)
                found.append(replace(item, repeated=repeated))
        return found

    def take(self, record: Mapping[str, Any]) -> None:
        """Remember that this input was certified, whatever came out."""
        if record["status"] == REFUSED or (key := self._keys.get(record["row"])) is None:
            return
        known = self._seeds(self._journal.get(key, self._draws) or {"seeds": []})
        if self._seed not in known:
            self._journal.add(key, self._draws, {"seeds": [*known, self._seed]}, replace=True)

    def _seeds(self, kept: object) -> list[int]:
        where = f"{self._journal.path}: earlier draws"
        known: DrawnSeeds = in_shape(kept, DrawnSeeds, where, remedy=JOURNAL_REMEDY)
        return known["seeds"]
