"""The records of one report as a sequence that reads them from the journal when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

from unfooled.errors import UsageError, UserError
from unfooled.files import JsonMapping
from unfooled.settings import checked
from unfooled.storage.journal import JOURNAL_REMEDY, TEMPORARY, Journal, read_journal

R = TypeVar("R")
JOURNAL = "journal.sqlite"
_SHOWN = 3


class Kept(Sequence[R], Generic[R]):
    """Records in the order of the inputs: ``len``, iteration, indices and slices; none is held in memory."""

    def __init__(
        self, path: Path, table: str, name: str, decode: Callable[[Mapping[str, object]], R], count: int
    ) -> None:
        self._path, self._table, self._name = path, table, name
        self._decode, self._count = decode, count
        self._journal: Journal | None = None
        """A temporary journal, which lives as long as somebody may read it."""
        self.reused = 0
        """How many of the records were there before the job ran, those of unreadable rows left out."""

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[R]:
        return self._read(0, self._count)

    @overload
    def __getitem__(self, index: int) -> R: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[R, ...]: ...
    def __getitem__(self, index: int | slice) -> R | tuple[R, ...]:
        if isinstance(index, slice):
            places = range(self._count)[index]
            first, last = min(places, default=0), max(places, default=-1)
            read = tuple(self._read(first, last - first + 1))
            return tuple(read[place - first] for place in places)
        place = range(self._count)[index]  # an IndexError speaks of a range then, as of any sequence
        return next(self._read(place, 1))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or len(other) != len(self):
            return NotImplemented if not isinstance(other, Sequence) else False
        return all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(repr(one) for one in islice(self, _SHOWN))
        return f"[{shown}{', …' if self._count > _SHOWN else ''}] ({self._count} records)"

    def __reduce__(self) -> tuple[object, ...]:
        return tuple, (list(self),)  # a copy elsewhere cannot read this journal

    def where(self) -> dict[str, object]:
        """What a saved report says about its journal."""
        return {"file": JOURNAL, "list": self._name, "records": self._count}

    def _read(self, start: int, count: int) -> Iterator[R]:
        with self._opened() as journal:
            for place, record in enumerate(journal.reported(self._name, start, count), start=start):
                yield decoded(self._decode, record, self._path, place)

    def _opened(self) -> AbstractContextManager[Journal]:
        return read_journal(self._path, self._table) if self._journal is None else nullcontext(self._journal)


def decoded(decode: Callable[[JsonMapping], R], record: Any, path: Path, place: int) -> R:
    """The record as what it was written from; a damaged one is told with the journal and its place."""
    where = f"{path}: result {place}"
    try:
        return decode(checked(record, dict[str, Any], where))
    except UsageError as error:
        raise UserError(f"{where}: {error} {JOURNAL_REMEDY}") from error


def kept_records(journal: Journal, name: str, decode: Callable[[Mapping[str, object]], R]) -> Kept[R]:
    """The records of a list that the journal has now."""
    records = Kept(journal.path, journal.table, name, decode, journal.report_list(name))
    if journal.path == TEMPORARY:
        records._journal = journal
    return records


def read_kept(path: Path, table: str, about: JsonMapping, decode: Callable[[JsonMapping], R]) -> Kept[R]:
    """The records of a saved report; ``about`` is what :meth:`Kept.where` said of them."""
    with read_journal(path, table) as journal:
        every = enumerate(journal.reported(about["list"]))
        there = sum(1 for place, one in every if decoded(decode, one, path, place))  # damage is found now
    if there < about["records"]:
        raise UserError(
            f"{path} lacks {about['records'] - there} records of the report beside it. Run the work again."
        )
    return Kept(path, table, about["list"], decode, about["records"])
