"""The progress bar of an attack: examples done, their rate, the time left, the success rate so far."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from unfooled.cli.console import err

if TYPE_CHECKING:
    from unfooled.api.jobs.attack_job import Progress


@contextmanager
def attack_progress(name: str) -> Iterator[Callable[[Progress], None]]:
    """Gives the function to call with each :class:`Progress`; the bar appears with the first.

    Attacks side by side finish in bursts, so the rate is that of the whole run; what the journal held took
    no time and is not part of it.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    texts = [TextColumn("{task.fields[facts]}", style="progress.remaining")]
    bar = Bar(TextColumn(name), BarColumn(), MofNCompleteColumn(), *texts, console=err)
    shown = bar.add_task(name, total=None, facts="")
    held: int | None = None
    started = time.monotonic()

    def update(now: Progress) -> None:
        nonlocal held, started
        bar.start()
        if held is None or now.done == held:
            held, started = now.done, time.monotonic()
        asr = "" if now.asr is None else f"ASR {now.asr:.3f}"
        facts = f"{_speed(now.done - held, now.total - now.done, time.monotonic() - started)} {asr}"
        bar.update(shown, completed=now.done, total=now.total, facts=facts)

    try:
        yield update
    finally:
        bar.stop()


def _speed(done: int, left: int, seconds: float) -> str:
    """Rate and time left.

    >>> _speed(30, 15, 60.0)
    '30.0/min, 0:00:30 left'
    """
    if not done or seconds <= 0:
        return ""
    rate = done / seconds
    shown = f"{rate:.1f}/s" if rate >= 1 else f"{60 * rate:.1f}/min"
    return f"{shown}, {timedelta(seconds=round(left / rate))} left" if left else shown
