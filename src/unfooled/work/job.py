"""One loop for all long work: skip what the journal holds, ask an executor for the rest, keep each record.

Every finished input is one transaction. A killed job goes on where it stood, whoever executes it; only this
process writes. Inputs are handed out as they are needed and records are dropped once they are written, so
memory does not grow with the number of inputs.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from unfooled.errors import QueriesSpent, UserError
from unfooled.files import JsonMapping
from unfooled.storage.journal import TEMPORARY, Journal, Key
from unfooled.storage.kept import Kept, decoded, kept_records
from unfooled.work.executor import Executor, Piece, Spec

ItemT = TypeVar("ItemT")
Made = TypeVar("Made", covariant=True)
R = TypeVar("R")
ResultT = TypeVar("ResultT")
Record = JsonMapping


def _never(_: Record) -> bool:
    return False


class Items(Protocol[Made]):
    """The items of a job; may make them on demand."""

    def __len__(self) -> int: ...
    def __getitem__(self, number: int, /) -> Made: ...


@dataclass(frozen=True)
class Job(Generic[ItemT]):
    """What is to be done: one record per item."""

    items: Items[ItemT]
    key: Callable[[ItemT], Key]
    """Under which the journal keeps the record: everything that the record depends on."""
    name: Callable[[ItemT], str]
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

    def run(
        self,
        journal: Journal,
        executor: Executor,
        spec: Spec,
        *,
        decode: Callable[[Record], R],
        report: Callable[[Kept[R]], ResultT],
        take: Callable[[Record], None] = lambda _: None,
        tell: Callable[[], None] = lambda: None,
        others: Iterable[Path] = (),
    ) -> ResultT:
        """Do what is left, and report.

        ``report`` gets all records, decoded when they are read; it is also called when Ctrl-C or a user error
        stops the work, if something is done and the journal is a file. A budget of queries that ends
        (:class:`QueriesSpent`) gives the report of what is done. ``take`` gets each record once: first
        those that the journal has, then the new ones. ``tell`` is called when the former are read, when the
        first worker is ready, and after each new record. ``others`` are journals whose records of the same
        items are taken over.
        """
        listed = journal.write_list(self.keys)
        journal.adopt(listed, others)
        reused = 0

        def records() -> Kept[R]:
            found = kept_records(journal, listed, decode)
            found.reused = reused
            return found

        def count(number: int) -> None:
            nonlocal reused
            reused = number

        try:
            self._work(listed, journal, executor, spec, decode, take, tell, count)
        except QueriesSpent:
            found = records()
            if not len(found):
                raise
            return report(found)
        except (KeyboardInterrupt, UserError):
            found = records()
            if len(found) and journal.path != TEMPORARY:
                report(found)
            raise
        return report(records())

    def _work(
        self,
        listed: str,
        journal: Journal,
        executor: Executor,
        spec: Spec,
        decode: Callable[[Record], object],
        take: Callable[[Record], None],
        tell: Callable[[], None],
        count_reused: Callable[[int], None],
    ) -> None:
        for key, settled in self.settled:
            journal.add(*key, settled)
        left, broken = array("q"), set()
        for place, kept in journal.read_list(listed):
            if kept is not None:
                decoded(decode, kept, journal.path, place)  # a damaged one is refused before any work
            if kept is None:
                left.append(place)
            elif place < len(self.items) and self.again(kept):
                left.append(place)
                broken.add(place)
            else:
                take(kept)
        count_reused(len(self.items) - len(left))
        tell()

        def pieces() -> Iterator[Piece]:
            tell()  # somebody asks, so what is needed is loaded: from here on, time is spent on inputs
            for place in left:
                yield place, self.items[place]

        with closing(executor.run(spec, pieces(), count=len(left), name=self.name)) as records:
            for place, record in records:
                journal.add(*self.key(self.items[place]), record, replace=place in broken)
                take(record)
                tell()
