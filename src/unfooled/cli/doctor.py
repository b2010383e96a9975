"""``unfooled doctor``: does everything work here?"""

from __future__ import annotations

from typing import Annotated

import typer

from unfooled.cli.console import JsonOption, out, print_json

_STYLES = {"ok": "green", "missing": "dim", "warning": "yellow", "wrong": "bold red"}


def doctor(
    offline: Annotated[bool, typer.Option("--offline", help="Do not ask the package index.")] = False,
    json_: JsonOption = False,
) -> None:
    """Show what is installed, cached and reachable, and how fast this machine is.

    Example: unfooled doctor

    Fetches and changes nothing. Exit code 1 if something that every command needs is missing.
    """
    from rich.table import Table
    from rich.text import Text

    from unfooled.api.doctor import as_dict
    from unfooled.api.doctor import doctor as look

    found = look(network=not offline)
    if json_:
        print_json(as_dict(found))
    else:
        table = Table("", "", "", box=None, pad_edge=False, show_header=False)
        for one in found:
            table.add_row(Text(one.about), Text(one.state, style=_STYLES[one.state]), Text(one.found))
        out.print(table)
    if any(one.state == "wrong" for one in found):
        raise typer.Exit(1)
