"""``unfooled demo``: train, attack, certify and look at the page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unfooled.cli.console import JsonOption, print_json


def demo(
    out_: Annotated[
        Path | None,
        typer.Option("--out", help="Folder for the runs and the page (default: demo, or demo-quick)."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A few texts only: see how it works in a minute or two.")
    ] = False,
    json_: JsonOption = False,
) -> None:
    """Break a news classifier with typos, defend the same encoder, attack it again, and certify it.

    Takes about five minutes on two free cores. The page is there after the first training and is rewritten
    after every step. Interrupted? Run it again: finished parts are used as they are.
    """
    from unfooled.benchmarks.demo import demo as run
    from unfooled.cli.show.benchmark_show import Announcer
    from unfooled.cli.show.demo_show import Story, show_demo

    announcer = Announcer() if json_ else Story()
    result = run(out_, quick=quick, on_cell=announcer.cell, watch=announcer.watch)
    if json_:
        return print_json(result.to_dict())
    show_demo(result)
