"""What all commands share: consoles, the ``--json`` option, how rates and settings are shown.

Results go to stdout, progress and messages to stderr, so that output can be piped.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable
from typing import Annotated, Any

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from unfooled.files import JsonMapping
from unfooled.records.results.result import reuse_text
from unfooled.settings import describe_settings
from unfooled.untrusted import printable


class CleanConsole(Console):
    """A console on which nothing that is shown can steer the terminal: colours come from styles alone.

    [brackets] are shown as they are, unless a call says ``markup=True``.
    """

    def __init__(self, *, stderr: bool = False, width: int | None = None) -> None:
        super().__init__(stderr=stderr, width=width, highlight=False, markup=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(printable(segment.text, keep="\n"), segment.style)


out = CleanConsole()
err = CleanConsole(stderr=True)

JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on stdout (progress stays on stderr).")
]


def print_json(value: Any) -> None:
    """One JSON document on stdout, on one line; NaN is never written, what a terminal obeys is spelt out."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=str)
    typer.echo(text if text.isprintable() else "".join(map(_spelt, text)))


def _spelt(character: str) -> str:
    """Half characters and those that are not printed as JSON escapes them."""
    return character if character.isprintable() else json.dumps(character)[1:-1]


def show_kept(about: JsonMapping) -> None:
    """What of a result was there before, and which result set holds it."""
    if text := reuse_text(about):
        err.print(f"{text}.", soft_wrap=True)
    if kept := about.get("result_set"):
        if kept["note"]:
            err.print(kept["note"], style="yellow", soft_wrap=True)
        err.print(f"Saved in {kept['folder']}", style="dim", soft_wrap=True)


def leave_if_refused(refused: int, of: int) -> None:
    """One rule for all commands: code 1 if an input was refused or broke; the others are answered."""
    if refused:
        err.print(f"{refused:,} of {of:,} inputs were refused or ended in an error.", style="yellow")
        raise typer.Exit(1)


def command_line() -> str:
    """The command as it was given, for the record of its results."""
    return shlex.join(["unfooled", *sys.argv[1:]])


def rate(value: JsonMapping) -> str:
    """A proportion with its interval and how many inputs it is about."""
    if value["value"] is None:
        return "–      (no such input)"
    low, high = value["interval"]
    return f"{value['value']:.3f}  (95 % interval {low:.3f} to {high:.3f}; {value['count']} of {value['n']})"


def print_settings(declaration: type[Any]) -> None:
    """The settings of a defence or recipe: name, default, what it is."""
    from rich.table import Table

    table = Table(box=None, show_header=False, padding=(0, 2))
    for info in describe_settings(declaration):
        table.add_row(info.name, "" if info.default is None else str(info.default), info.help)
    if table.row_count:
        out.print(table)
