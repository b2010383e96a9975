"""``unfooled report``: one page, or tables, about runs, attacks, certificates and benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unfooled.cli.console import JsonOption, err, out, print_json


def report(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUNS…",
            help="Folders of trained runs and of benchmarks; folders that `attack --out` or `certify --out` "
            "wrote; CSV files of TextAttack's results.",
            show_default=False,
        ),
    ],
    out_: Annotated[
        Path | None, typer.Option("--out", help="The file to write (default: report.html, report.md …).")
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="html for the page; md, csv, json or latex for its tables (default: the ending of --out).",
        ),
    ] = None,
    static: Annotated[
        bool, typer.Option("--static", help="A page without any script; charts are drawings.")
    ] = False,
    json_: JsonOption = False,
) -> None:
    """Write one self-contained page about runs with their attacks, certificates and repeated evaluations.

    Example: unfooled report runs/plain runs/rsmi --out report.html

    The page is made from the files of the folders and loads nothing. Tables sort, charts answer, examples can
    be searched; without scripts it is readable too. For a paper: --out tables.tex
    """
    from unfooled.api.report import report as write
    from unfooled.reports import SUFFIXES

    file = out_ if out_ is not None else Path(f"report{SUFFIXES.get(format_ or 'html', '.html')}")
    made = write(*paths, out=file, format=format_, static=static)
    if json_:
        return print_json(made.to_dict())

    def say(text: str) -> None:
        out.print(text, soft_wrap=True, markup=False)

    for run in made.runs:
        low, high = run["accuracy_interval"]
        say(
            f"{run['name']}: {run['defence']} on {run['task']}, clean accuracy {run['accuracy']:.3f} "
            f"(95 % interval {low:.3f} to {high:.3f})"
        )
    for summary in made.textattack:
        asr = summary["asr"]
        say(
            f"{summary['file']}: TextAttack changed the answer to {asr['count']} of {asr['n']} attacked "
            f"inputs; accuracy {summary['sacc']['value']:.3f} before and {summary['racc']['value']:.3f} "
            "under attack"
        )
    if made.format == "html" and not static and not made.interactive and made.runs:
        err.print(
            "The chart library could not be fetched, so charts are drawings. "
            "`unfooled assets get vega` says why.",
            markup=False,
            soft_wrap=True,
        )
    for why in made.not_shown:
        err.print(why, markup=False, soft_wrap=True)
    say(f"Report: {made.path}")
