"""``unfooled report``: one HTML page about one or more runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unfooled.cli.console import JsonOption, out, print_json
from unfooled.errors import UsageError


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(
            help="Folders of trained runs; CSV files of TextAttack's results.", show_default=False
        ),
    ],
    out_: Annotated[Path, typer.Option("--out", help="The HTML file to write.")] = Path("report.html"),
    json_: JsonOption = False,
) -> None:
    """Write one self-contained HTML page about trained runs.

    Example: unfooled report runs/plain runs/rsmi --out report.html

    The page is made from the files of the run folders; it loads nothing and runs no script. Results that
    TextAttack logged with --log-to-csv can be shown too: unfooled report results.csv
    """
    from unfooled.evaluate.page import render
    from unfooled.evaluate.results import read_run
    from unfooled.evaluate.textattack_csv import read_textattack_csv
    from unfooled.run.files import write_text

    if out_.is_dir():
        raise UsageError(f"{out_} is a folder. Give --out a file, e.g. --out {out_ / 'report.html'}.")
    if out_.suffix.lower() not in (".html", ".htm"):
        raise UsageError(
            f"The report is an HTML page: give --out a name that ends in .html, not {out_.name!r}."
        )
    distinct: dict[Path, Path] = {}
    for path in runs:
        distinct.setdefault(path.resolve(), path)
    logged = [path for path in distinct.values() if path.suffix.lower() == ".csv" and not path.is_dir()]
    read = [read_run(path) for path in distinct.values() if path not in logged]
    attacks = [read_textattack_csv(path) for path in logged]
    write_text(out_, render(read, textattack=attacks))
    if json_:
        more = {"textattack": [results.summary() for results in attacks]} if attacks else {}
        return print_json({"report": str(out_), "runs": [run.summary() for run in read], **more})
    for run in read:
        out.print(
            f"{run.name}: {run.defence} on {run.task}, clean accuracy {run.accuracy:.3f} "
            f"(95 % interval {run.low:.3f} to {run.high:.3f})",
            soft_wrap=True,
            markup=False,
        )
    for results in attacks:
        summary = results.summary()
        asr = summary["asr"]
        out.print(
            f"{results.file}: TextAttack changed the answer to {asr['count']} of {asr['n']} attacked inputs; "
            f"accuracy {summary['sacc']['value']:.3f} before and {summary['racc']['value']:.3f} under attack",
            soft_wrap=True,
            markup=False,
        )
    out.print(f"Report: {out_}", soft_wrap=True, markup=False)
