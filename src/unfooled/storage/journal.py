"""The crash-safe journal of long work: each finished piece is one transaction in SQLite (WAL).

A result is kept under the fingerprint of the conditions it was measured under and a number (the repeat, the
row). A killed process leaves every finished piece whole; whoever runs the same work again asks the journal
first. Other conditions have another fingerprint, so nothing is ever mixed. A *list* says which results belong
to one report, and in which order.
"""

from __future__ import annotations

import errno
import hashlib
import json
import shutil
import sqlite3
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from unfooled.errors import UserError
from unfooled.files import cannot_write
from unfooled.parsing import parse_json

TEMPORARY = Path("a temporary journal")
"""A journal that is gone when nobody uses it any more; SQLite moves it to a temporary file as it grows."""
_LOG = 2**16
"""Bytes that SQLite needs for the log and its index before anything is written."""
Key = tuple[str, int]
"""Fingerprint of the conditions, and a number."""
JOURNAL_REMEDY = "The journal is damaged: copy the folder again, or choose another --out to measure again."


def fingerprint(conditions: Mapping[str, Any]) -> str:
    """The SHA-256 of conditions that can be written as JSON."""
    return hashlib.sha256(json.dumps(conditions, sort_keys=True).encode()).hexdigest()


class Journal:
    """Results by (fingerprint of the conditions, number)."""

    def __init__(
        self, connection: sqlite3.Connection, path: Path, table: str, *, read_only: bool = False
    ) -> None:
        self._connection = connection
        self.path = path
        self.table = table
        if read_only:
            return
        connection.execute(
            f"CREATE TABLE IF NOT EXISTS {table}"
            " (conditions TEXT, number INTEGER, result TEXT NOT NULL, PRIMARY KEY (conditions, number))"
        )
        connection.execute(
            f"CREATE TABLE IF NOT EXISTS {table}_lists (list TEXT, place INTEGER, conditions TEXT,"
            " number INTEGER, reported INTEGER DEFAULT 0, PRIMARY KEY (list, place)) WITHOUT ROWID"
        )

    def read(self, conditions: str, *, below: int | None = None) -> dict[int, Any]:
        """All results under these conditions, or those with a number less than ``below``."""
        rows = self._connection.execute(
            f"SELECT number, result FROM {self.table} WHERE conditions = ?", (conditions,)
        )
        return {
            number: self._parsed(result, number) for number, result in rows if below is None or number < below
        }

    def get(self, conditions: str, number: int) -> Any | None:
        """One result, or None."""
        row = self._connection.execute(
            f"SELECT result FROM {self.table} WHERE conditions = ? AND number = ?", (conditions, number)
        ).fetchone()
        return None if row is None else self._parsed(row[0], number)

    def add(self, conditions: str, number: int, result: Any, *, replace: bool = False) -> None:
        """Keep a result in one transaction; the one that is there already stays, unless ``replace``."""
        with self._connection:
            self._connection.execute(
                f"INSERT OR {'REPLACE' if replace else 'IGNORE'} INTO {self.table} VALUES (?, ?, ?)",
                (conditions, number, json.dumps(result)),
            )

    def write_list(self, keys: Callable[[], Iterable[Key]]) -> str:
        """Write down which inputs a job has, in this order; gives the name of the list.

        ``keys`` is called twice, so that they need not be held in memory. The same keys are the same list.
        """
        digest = hashlib.sha256()
        for conditions, number in keys():
            digest.update(f"{conditions} {number}\n".encode())
        name = digest.hexdigest()[:32]
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            known = f"SELECT 1 FROM {self.table}_lists WHERE list = ? LIMIT 1"
            if self._connection.execute(known, (name,)).fetchone() is None:
                self._connection.executemany(
                    f"INSERT INTO {self.table}_lists (list, place, conditions, number) VALUES (?, ?, ?, ?)",
                    ((name, place, *key) for place, key in enumerate(keys())),
                )
        return name

    def adopt(self, name: str, others: Iterable[Path]) -> None:
        """Take over what other journals hold of a list: a result depends on its key alone."""
        missing = (
            f"SELECT conditions, number FROM {self.table}_lists LEFT JOIN {self.table}"
            " USING (conditions, number) WHERE list = ? AND result IS NULL"
        )
        for path in others:
            keys: list[Key] = self._connection.execute(missing, (name,)).fetchall()
            try:
                with read_journal(path, self.table) as other:
                    found = [(*key, result) for key in keys if (result := other.get(*key)) is not None]
            except UserError:
                continue  # a damaged journal is told when its own results are asked for
            for conditions, number, result in found:
                self.add(conditions, number, result)

    def read_list(self, name: str) -> Iterator[tuple[int, Any | None]]:
        """(place, result) of every input of a list, in order; None where there is no result yet."""
        rows = self._connection.execute(
            f"SELECT place, result FROM {self.table}_lists LEFT JOIN {self.table}"
            " USING (conditions, number) WHERE list = ? ORDER BY place",
            (name,),
        )
        for place, result in rows:
            yield place, None if result is None else self._parsed(result, place)

    def report_list(self, name: str) -> int:
        """Mark what is there now as reported, for :meth:`reported`; gives its number."""
        mine, results = f"{self.table}_lists", self.table
        with self._connection:
            self._connection.execute(
                f"UPDATE {mine} SET reported = EXISTS (SELECT 1 FROM {results} WHERE {results}.conditions ="
                f" {mine}.conditions AND {results}.number = {mine}.number) WHERE list = ?",
                (name,),
            )
        marked = f"SELECT count(*) FROM {self.table}_lists WHERE list = ? AND reported"
        return int(self._connection.execute(marked, (name,)).fetchone()[0])

    def reported(self, name: str, start: int = 0, count: int = -1) -> Iterator[Any]:
        """The results of a list that were reported, in order, from ``start`` on, at most ``count``."""
        rows = self._connection.execute(
            f"SELECT result FROM {self.table}_lists CROSS JOIN {self.table} USING (conditions, number)"
            " WHERE list = ? AND reported ORDER BY place LIMIT ? OFFSET ?",
            (name, count, start),
        )
        for place, (result,) in enumerate(rows, start=start):
            yield self._parsed(result, place)

    def _parsed(self, result: Any, number: int) -> Any:
        name = f"{self.path}: result {number}"
        if not isinstance(result, str):
            raise UserError(f"{name} is not text. {JOURNAL_REMEDY}")
        return parse_json(result, name, remedy=JOURNAL_REMEDY)


@contextmanager
def open_journal(path: Path, table: str) -> Iterator[Journal]:
    """The journal in this file, made if it is not there; a file that cannot be used is named."""
    if path == TEMPORARY:
        connection = sqlite3.connect("", check_same_thread=False)
        journal = Journal(connection, path, table)
        weakref.finalize(journal, connection.close)
        yield journal
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=30)
    except (OSError, sqlite3.Error) as error:
        raise _cannot_use(path, error) from error
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        yield Journal(connection, path, table)
    except (sqlite3.Error, UnicodeError) as error:  # UnicodeError: SQLite's own message is damaged
        raise _cannot_use(path, error) from error
    finally:
        connection.close()


def _cannot_use(path: Path, error: OSError | sqlite3.Error | UnicodeError) -> UserError:
    """What is wrong: the disk, which SQLite tells in words, or the file."""
    if isinstance(error, OSError):
        return cannot_write(path, error)
    told = {"disk is full": errno.ENOSPC, "readonly": errno.EACCES, "unable to open": errno.EACCES}
    # What SQLite says where there is no room for the log beside the journal.
    told["disk I/O error"] = errno.ENOSPC if shutil.disk_usage(path.parent).free < _LOG else errno.EIO
    for words, number in told.items():
        if words in str(error):
            return cannot_write(path, OSError(number, str(error)))
    return UserError(f"The journal {path} cannot be used: {error}. Choose another folder with --out.")


@contextmanager
def read_journal(path: Path, table: str) -> Iterator[Journal]:
    """The journal in this file to read only: nothing is made or changed, its folder may be protected."""
    if not path.is_file():
        raise UserError(f"{path} is missing. Copy the whole folder, or run the work again.")
    # Without a log beside it nobody is writing, and SQLite need not make files to coordinate.
    mode = "ro" if path.with_name(f"{path.name}-wal").exists() else "ro&immutable=1"
    try:
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode={mode}", uri=True, timeout=30)
        try:
            yield Journal(connection, path, table, read_only=True)
        finally:
            connection.close()
    except (sqlite3.Error, UnicodeError) as error:  # UnicodeError: SQLite's own message is damaged
        raise UserError(
            f"The journal {path} cannot be read: {error}. Copy the folder again, or run the work again."
        ) from error
