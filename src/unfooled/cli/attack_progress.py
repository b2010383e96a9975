"""The progress bar of an attack: examples done, their rate, the time left, the success rate so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from unfooled.cli.console import err

if TYPE_CHECKING:
    from unfooled.run.attack_work import Progress


@contextmanager
def attack_progress(name: str) -> Iterator[Callable[[Progress], None]]:
    """Gives the function to call with each :class:`Progress`."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    with Bar(
        TextColumn(name),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[asr]}"),
        console=err,
    ) as bar:
        shown = bar.add_task(name, total=None, rate="", asr="")
        begun = False

        def update(now: Progress) -> None:
            nonlocal begun
            asr = "" if now.asr is None else f"ASR {now.asr:.3f}"
            if not begun:
                # What the journal held took no time: it is not part of the rate.
                bar.reset(shown, total=now.total, completed=now.done)
                begun = True
            bar.update(shown, completed=now.done, asr=asr, rate=_rate(bar.tasks[0].speed))

        yield update


def _rate(speed: float | None) -> str:
    if not speed:
        return ""
    return f"{speed:.1f}/s" if speed >= 1 else f"{60 * speed:.1f}/min"
