"""One loop for all long work: skip what the journal holds, ask an executor for the rest, keep each record.

Every finished input is one transaction. A killed job goes on where it stood, whoever executes it; only this
process writes. Inputs are handed out as they are needed and records are dropped once they are written, so
memory does not grow with the number of inputs.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from unfooled.storage.journal import Journal, Key
from unfooled.work.executor import Executor, Piece, Spec

Item = TypeVar("Item")
Record = Mapping[str, Any]


def _never(_: Record) -> bool:
    return False


@dataclass(frozen=True)
class Job(Generic[Item]):
    """What is to be done: one record per item."""

    items: Sequence[Item]
    """May make its items on demand: only ``len`` and ``[number]`` are used."""
    key: Callable[[Item], Key]
    """Under which the journal keeps the record: everything that the record depends on."""
    name: Callable[[Item], str]
    """Which item it is, in messages."""
    settled: Sequence[tuple[Key, Record]] = ()
    """Records that need no work, for instance of rows that cannot be read; they come after the items."""
    again: Callable[[Record], bool] = _never
    """Whether an item with this record is to be tried again."""

    @property
    def total(self) -> int:
        return len(self.items) + len(self.settled)

    def keys(self) -> Iterator[Key]:
        """The keys in the order of the report."""
        for number in range(len(self.items)):
            yield self.key(self.items[number])
        yield from (key for key, _ in self.settled)

    def listed(self, journal: Journal) -> str:
        """The name of the list of these inputs in the journal, which :meth:`run` works through."""
        return journal.write_list(self.keys)

    def run(
        self,
        listed: str,
        journal: Journal,
        executor: Executor,
        spec: Spec,
        *,
        found: Callable[[Record], None] = lambda _: None,
        begin: Callable[[], None] = lambda: None,
        made: Callable[[Record], None] = lambda _: None,
    ) -> None:
        """Do what is left.

        ``found`` gets each record that the journal has, then ``begin`` is called, then ``made`` gets each new
        record after it was written.
        """
        for key, record in self.settled:
            journal.add(*key, record)
        left, broken = array("q"), set()
        for place, kept in journal.read_list(listed):
            if kept is None:
                left.append(place)
            elif place < len(self.items) and self.again(kept):
                left.append(place)
                broken.add(place)
            else:
                found(kept)
        begin()
        pieces: Iterator[Piece] = ((place, self.items[place]) for place in left)
        with closing(executor.run(spec, pieces, count=len(left), name=self._named)) as records:
            for place, record in records:
                journal.add(*self.key(self.items[place]), record, replace=place in broken)
                made(record)

    def _named(self, item: Any) -> str:
        return self.name(item)
