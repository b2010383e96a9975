"""``unfooled benchmark``: a whole plan of trainings, attacks, certificates and measurements."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unfooled.cli.console import JsonOption, command_line, err, print_json
from unfooled.cli.options import common_options as options
from unfooled.cli.options import completion

if TYPE_CHECKING:
    from unfooled.records.results.documents import BenchmarkReport


def benchmark(
    plan: Annotated[
        Path | None, typer.Argument(metavar="[PLAN.yaml]", help="The plan.", show_default=False)
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(help="A plan that comes with unfooled: see --list.", autocompletion=completion.presets),
    ] = None,
    out_: Annotated[
        Path | None, typer.Option("--out", help="Folder for everything (default: runs/NAME of the plan).")
    ] = None,
    scale: Annotated[
        float, typer.Option(help="Make all sizes smaller, e.g. 0.1: texts, attacked inputs, draws, repeats.")
    ] = 1.0,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="A variable of the plan, e.g. --set encoder=bert-base-uncased. Repeatable."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the plan and list its cells; run nothing.")
    ] = False,
    workers: options.Workers = None,
    ray: options.Ray = None,
    list_: Annotated[bool, typer.Option("--list", help="List the presets, then leave.")] = False,
    json_: JsonOption = False,
) -> None:
    """Run a plan: train, attack, certify and measure every cell, then write report.html.

    Example: unfooled benchmark --preset quick

    Run the same command again after Ctrl-C or a failure: finished cells are kept, an interrupted one goes on
    where it was, a failed one is tried again. Exits with code 1 if a cell failed.
    """
    from unfooled.cli.show.benchmark_show import Announcer, list_presets, show_cells, show_result

    if list_:
        return list_presets(json_)
    from unfooled.settings import parse_assignments

    variables = parse_assignments(set_ or [])
    from unfooled.benchmarks.run import Stopped
    from unfooled.benchmarks.run import benchmark as run
    from unfooled.storage.provenance import recorded_command

    announcer = Announcer()
    try:
        with recorded_command(command_line()):
            result = run(
                plan,
                out_,
                preset=preset,
                scale=scale,
                variables=variables,
                dry_run=dry_run,
                workers=workers,
                ray=ray,
                on_cell=announcer.cell,
                watch=announcer.watch,
            )
    except Stopped as stop:
        _print(stop.result, json_, show_result)
        done, cells = stop.result["counts"]["done"], len(stop.result["cells"])
        err.print(
            f"Stopped after {done} of {cells} cells; all that is finished is kept in {stop.result['out']}.",
            markup=False,
            soft_wrap=True,
        )
        raise
    _print(result, json_, show_cells if dry_run else show_result)
    if not dry_run and result["counts"]["done"] < len(result["cells"]):
        raise typer.Exit(1)


def _print(result: BenchmarkReport, as_json: bool, show: Any) -> None:
    if as_json:
        print_json(result.to_dict())
    else:
        show(result)
