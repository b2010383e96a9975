"""How a download shows itself: a bar on a terminal, one line elsewhere, or nothing.

A progress is called with a label and a total in bytes and gives a context whose value is called with
the bytes done so far. Everything goes to stderr, so that results on stdout can be piped.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

Update = Callable[[int], None]
Bar = Callable[[str, int], AbstractContextManager[Update]]


@contextmanager
def shown(label: str, total: int) -> Iterator[Update]:
    """A bar with rate and time left where stderr is a terminal, else one plain line."""
    if not sys.stderr.isatty():
        print(f"{label} ({readable(total)})", file=sys.stderr, flush=True)
        yield lambda done: None
        return
    from rich import progress as bars
    from rich.console import Console

    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.DownloadColumn(),
        bars.TransferSpeedColumn(),
        bars.TimeRemainingColumn(),
    )
    with bars.Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.update(task, completed=min(done, total))


@contextmanager
def silent(label: str, total: int) -> Iterator[Update]:
    """Show nothing."""
    yield lambda done: None


def readable(size: int) -> str:
    """Bytes as people read them: ``91.6 MB``."""
    if size < 1_000:
        return f"{size} B"
    value = float(size)
    for unit in ("kB", "MB", "GB"):
        value /= 1_000
        if value < 1_000 or unit == "GB":
            break
    return f"{value:.1f} {unit}"
