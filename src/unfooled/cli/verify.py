"""``unfooled verify``: is the run in a folder the one that was saved?"""

from __future__ import annotations

from typing import Annotated

import typer

from unfooled.cli.console import JsonOption, out, print_json
from unfooled.cli.options import common_options as options

STYLES = {"passed": "green", "failed": "bold red", "not checked": "yellow"}


def verify(
    run: options.Run,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, mps.")] = "auto",
    json_: JsonOption = False,
) -> None:
    """Check a run: hashes of its files, that they fit, stored answers reproduced, whose results it holds.

    Example: unfooled verify runs/rsmi

    Exit code 0 if no check failed, else 1. Nothing in the folder is changed.
    """
    from rich.table import Table
    from rich.text import Text

    from unfooled.api.verify import verify as check
    from unfooled.records.results.result import one_line

    found = check(run, device=device)
    if json_:
        print_json(found.to_dict())
    else:
        table = Table("check", "result", "what was found", box=None, pad_edge=False)
        for one in found.checks:
            verdict = Text(one.verdict, style=STYLES[one.verdict])
            table.add_row(one_line(one.name), verdict, one_line(one.detail, 1000))
        out.print(table)
        out.print(one_line(found.headline(), 1000), markup=False, soft_wrap=True)
    if not found.passed:
        raise typer.Exit(1)
