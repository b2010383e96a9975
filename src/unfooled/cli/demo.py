"""``unfooled demo``: train, measure, predict and look at the page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unfooled.cli.console import JsonOption, err, out, print_json


def demo(
    out_: Annotated[
        Path | None,
        typer.Option("--out", help="Folder for the runs and the page (default: demo, or demo-quick)."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A few hundred texts only: a look at the works in a minute.")
    ] = False,
    json_: JsonOption = False,
) -> None:
    """Train on movie reviews, measure, predict a dozen sentences and write a page about it.

    Takes a few minutes on two cores. Interrupted? Run it again: finished runs are used as they are.
    """
    from unfooled.run.demo import demo as run

    result = run(out_, quick=quick, say=lambda message: err.print(message, markup=False, style="bold"))
    if json_:
        return print_json(
            {"report": str(result.report), "runs": list(result.summaries), "seconds": result.seconds}
        )
    for summary in result.summaries:
        low, high = summary["accuracy_interval"]
        out.print(
            f"{summary['defence']}: clean test accuracy {summary['accuracy']:.3f} "
            f"(95 % interval {low:.3f} to {high:.3f}, {summary['examples']} texts)",
            soft_wrap=True,
        )
    out.print(f"\nOpen the page: [bold]{result.report.resolve().as_uri()}[/]", soft_wrap=True)
    run_folder = result.runs[-1]
    out.print("\nTry next:", markup=False)
    for line in (
        f'unfooled predict {run_folder} "your own sentence"',
        f"unfooled train --task movie-reviews --defence rsmi --out {result.report.parent / 'my-rsmi'}",
        f"unfooled report {' '.join(str(r) for r in result.runs)} {result.report.parent / 'my-rsmi'}",
    ):
        out.print(f"  {line}", soft_wrap=True, markup=False)
