"""``unfooled demo``: train, attack, certify and look at the page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unfooled.cli.console import JsonOption, out, print_json, rate
from unfooled.files import JsonObject

if TYPE_CHECKING:
    from unfooled.benchmarks.demo import DemoResult


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
    """Train a plain and a defended model on movie reviews, attack both, certify a third, write a page.

    Takes under ten minutes on two free cores. Interrupted? Run it again: finished parts are used as they are.
    """
    from unfooled.benchmarks.demo import demo as run
    from unfooled.cli.show.benchmark_show import Announcer

    announcer = Announcer()
    result = run(out_, quick=quick, on_cell=announcer.cell, watch=announcer.watch)
    if json_:
        return print_json(result.to_dict())
    for summary in result.summaries:
        _show_model(summary, result)
    out.print(f"\nOpen the page: [bold]{result.report.resolve().as_uri()}[/]", soft_wrap=True, markup=True)
    plain, rsmi, certified = result.runs
    out.print("\nTry next:", markup=False)
    for line in (
        f'unfooled predict {rsmi} "your own sentence"',
        f"unfooled attack {plain} --recipe textfooler --limit 100 --show 3",
        f'unfooled certify {certified} "your own sentence" --threat words',
        f"unfooled report {' '.join(map(str, result.runs))} --out {result.report}",
    ):
        out.print(f"  {line}", soft_wrap=True, markup=False)


def _show_model(summary: JsonObject, result: DemoResult) -> None:
    name = summary["defence"]
    low, high = summary["accuracy_interval"]
    out.print(
        f"\n[bold]{name}[/]: clean test accuracy {summary['accuracy']:.3f} "
        f"(95 % interval {low:.3f} to {high:.3f}, {summary['examples']} texts)",
        soft_wrap=True,
        markup=True,
    )
    for recipe, found in result.attacks.get(name, {}).items():
        what, key = (
            ("ignores a changed meaning", "asr") if found["goal"] == "obstinate" else ("right", "racc")
        )
        lines = [f"{what} under {recipe}: {rate(found[key])}"]
        if f"{key}_verified" in found:
            lines.append(f"re-verified on fresh noise: {rate(found[f'{key}_verified'])}")
        out.print("  " + "; ".join(lines), soft_wrap=True, markup=False)
    if name in result.certificates:
        found = result.certificates[name]
        one_word = next((point for point in found["curve"] if point["radius"] == 1), None)
        shown = "none" if one_word is None else rate(one_word)
        out.print(
            f"  right, and provably so whichever one word is replaced by whatever: {shown}",
            soft_wrap=True,
            markup=False,
        )
