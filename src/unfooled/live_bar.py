"""How far long work is: a bar of rich in a terminal, one of HTML in a notebook, nothing elsewhere.

The HTML needs no widget: a notebook that was saved or printed shows the bar as it stood last.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress as RichBars

Follow = Callable[..., None]
"""Told how far the work is; what it is told is up to the work."""
Told = tuple[int, int | None, str]
"""How much is done, of how much, and a note."""
PAUSE = 0.1
"""Seconds between two drawings in a notebook."""


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


@contextmanager
def following(progress: Follow | bool | None, what: str, told: Callable[..., Told]) -> Iterator[Follow]:
    """What a verb calls with its progress: the function it was given, or a bar called ``what``.

    ``progress`` is a function, True (a bar), False (nothing), or None: a bar in a terminal or a notebook.
    ``told`` makes of the progress what the bar shows.
    """
    if callable(progress):
        yield progress
    elif progress is False or (progress is None and not (in_notebook() or sys.stderr.isatty())):
        yield lambda *now: None
    else:
        bars = NotebookBars() if in_notebook() else rich_bars()
        task: Any = None

        def show(*now: Any) -> None:
            nonlocal task
            done, total, note = told(*now)
            if task is None:
                bars.start()
                task = bars.add_task(what, total=total, note="")
            bars.update(task, completed=done, total=total, note=note)

        try:
            yield show
        finally:
            bars.stop()


def rich_bars(*, shown: bool = True) -> RichBars:
    """Bars on stderr with a note at the end."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        console=Console(stderr=True),
        disable=not shown,
    )


@dataclass
class _Row:
    what: str
    total: float | None
    done: float
    note: str
    first: float | None = None
    """What was done at the first report: it took no time that is known."""
    began: float = 0.0

    def html(self) -> str:
        of, bar = f"{self.done:,.0f}", ""
        if self.total is not None:
            of += f" of {self.total:,.0f}"
            bar = f"<progress value='{self.done:.0f}' max='{self.total:.0f}'></progress> "
        told = ", ".join(filter(None, [of, self._time(), self.note]))
        return f"<div>{bar}{escape(self.what)}: {escape(told)}</div>"

    def _time(self) -> str:
        """The time left; at the end, the time it took."""
        if self.total is None or self.first is None or self.done <= self.first:
            return ""
        spent, left = time.monotonic() - self.began, self.total - self.done
        if left <= 0:
            return str(timedelta(seconds=round(spent)))
        return f"{timedelta(seconds=round(left * spent / (self.done - self.first)))} left"


class NotebookBars:
    """The part of rich's ``Progress`` that is used here, drawn as HTML into one output of a notebook."""

    disable = False

    def __init__(self) -> None:
        self._rows: dict[int, _Row] = {}
        self._said: list[str] = []
        self._number = 0
        self._drawn = 0.0
        self._handle: Any = None

    def start(self) -> None:
        """Nothing is shown before there is something to show."""

    def add_task(
        self, description: str, *, total: float | None = None, completed: float = 0, note: str = ""
    ) -> Any:
        self._number += 1
        self._rows[self._number] = _Row(description, total, completed, note)
        self._draw()
        return self._number

    def update(
        self,
        task: Any,
        *,
        completed: float | None = None,
        total: float | None = None,
        note: str | None = None,
    ) -> None:
        row = self._rows[task]
        row.done = row.done if completed is None else completed
        row.total = row.total if total is None else total
        row.note = row.note if note is None else note
        if row.first is None:
            row.first, row.began = row.done, time.monotonic()
        if time.monotonic() - self._drawn > PAUSE:
            self._draw()

    def remove_task(self, task: Any) -> None:
        del self._rows[task]
        self._draw()

    def say(self, message: str) -> None:
        """A line below the bars that stays."""
        self._said.append(message)
        self._draw()

    def stop(self) -> None:
        if self._rows:
            self._draw()

    def _draw(self) -> None:
        from IPython.display import HTML, display

        lines = [row.html() for row in self._rows.values()]
        lines += [f"<div>{escape(message)}</div>" for message in self._said]
        self._drawn = time.monotonic()
        shown = HTML("".join(lines))
        if self._handle is None:
            self._handle = display(shown, display_id=True)
        else:
            self._handle.update(shown)
