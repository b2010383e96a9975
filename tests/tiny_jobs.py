"""A cheap job whose workers can be told to misbehave, and the journal rows it leaves."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from journals import stored
from unfooled.errors import UserError
from unfooled.storage.journal import fingerprint, open_journal
from unfooled.work.executor import Executor
from unfooled.work.job import Job

ITEMS = 40
TABLE = "squares"


@dataclass(frozen=True)
class Squares:
    """Squares numbers, up to ``ahead`` of them side by side; workers and numbers leave lines in files."""

    folder: Path
    ahead: int = 4
    seconds: float = 0.0
    together: int = 1
    """Workers that must be there before any of them begins."""
    deadly: int | None = None
    """The number over which a worker is killed."""
    deaths: int = 1_000
    """How often."""
    broken: str = ""

    def open(self, at_once: int) -> Squaring:
        self.note("opened.txt", os.getpid())
        if self.broken == "open":
            os._exit(3)
        while len(self.noted("opened.txt")) < self.together:
            time.sleep(0.005)
        return Squaring(self, min(self.ahead, at_once))

    def note(self, file: str, what: Any) -> None:
        with (self.folder / file).open("a") as out:
            out.write(f"{what}\n")

    def noted(self, file: str) -> list[str]:
        path = self.folder / file
        return path.read_text().split() if path.exists() else []


@dataclass
class Squaring:
    spec: Squares
    ahead: int

    def run(self, pieces: Iterator[tuple[int, int]]) -> Iterator[tuple[int, dict[str, Any]]]:
        flying: dict[int, int] = {}
        while True:
            flying.update(islice(pieces, self.ahead - len(flying)))
            if not flying:
                return
            place = next(iter(flying))
            number = flying.pop(place)
            self._misbehave(number)
            time.sleep(self.spec.seconds)
            self.spec.note("done.txt", number)
            yield place, {"number": number, "square": number**2}

    def _misbehave(self, number: int) -> None:
        if number != self.spec.deadly:
            return
        if self.spec.broken == "user":
            raise UserError("Row 7 has no text. Give it one.")
        if self.spec.broken == "bug":
            raise ZeroDivisionError("a bug")
        if len(self.spec.noted("deaths.txt")) < self.spec.deaths:
            self.spec.note("deaths.txt", number)
            os.kill(os.getpid(), signal.SIGKILL)


class Numbers:
    """Items made on demand."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, place: int) -> int:
        if not 0 <= place < self.count:
            raise IndexError(place)
        return place + 100


def squares_job(count: int = ITEMS, **more: Any) -> Job[int]:
    conditions = fingerprint({"work": "squares"})
    return Job(Numbers(count), key=lambda n: (conditions, n), name=lambda n: f"number {n}", **more)


def work(path: Path, executor: Executor, spec: Any, count: int = ITEMS, **more: Any) -> list[Any]:
    """The job on the journal at ``path``; gives its records."""
    own = ("settled", "again")
    job = squares_job(count, **{name: more.pop(name) for name in own if name in more})
    with open_journal(path, TABLE) as journal:
        return job.run(journal, executor, spec, decode=dict, report=list, **more)


def rows(path: Path) -> list[tuple[str, int, str]]:
    return stored(path, TABLE)


def main() -> None:
    """As a program: FOLDER WORKERS SECONDS, on FOLDER/journal.sqlite."""
    from unfooled.work.executor import make_executor

    folder, workers, seconds = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    try:
        work(folder / "journal.sqlite", make_executor(workers), Squares(folder, seconds=seconds))
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    import tiny_jobs  # what this program sends to workers must be importable there

    tiny_jobs.main()
