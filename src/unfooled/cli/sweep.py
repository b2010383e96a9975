"""``unfooled sweep``: train a grid of settings and seeds, and tabulate."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from unfooled.cli.console import JsonOption, err, out, print_json
from unfooled.cli.options import common_options as options
from unfooled.cli.options.declared import Options, takes
from unfooled.errors import UsageError
from unfooled.files import read_yaml
from unfooled.storage.config import TrainConfig


@takes(training=Options(TrainConfig, leave_out=["seed"]))
def sweep(
    axes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=VALUES]...", help="More of the grid, as after --grid.", show_default=False
        ),
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option(
            help="A setting and its values: sigma=0.1,0.2 or noise_layers=[0,2,4],[3,4,5]. Repeatable."
        ),
    ] = None,
    seeds: Annotated[str | None, typer.Option(help="Seeds of each cell, e.g. 0,1,2 (default: 0).")] = None,
    out_: Annotated[
        Path | None, typer.Option("--out", help="Folder for the runs and the table (default: runs/sweep).")
    ] = None,
    *,
    training: dict[str, object],
    set_: options.DefenceSettings = None,
    config: Annotated[
        Path | None,
        typer.Option(help="YAML file with the same names, and grid: {name: [values]}; options here win."),
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Train every cell of a grid, and tabulate dev accuracy, test accuracy and cost.

    Example: unfooled sweep --task movie-reviews --defence rsmi --grid sigma=0.1,0.2 --out runs/sweep

    Finished cells are reused and an interrupted one goes on: run the same command again. The best cell is
    chosen on dev; test accuracy is only reported. Exits with code 1 if a cell failed.
    """
    from unfooled.benchmarks.grid import parse_grid
    from unfooled.benchmarks.sweep import sweep as run
    from unfooled.cli.show.benchmark_show import Announcer
    from unfooled.settings import parse_assignments

    values: dict[str, Any] = read_yaml(config) if config else {}
    folder = out_ or Path(values.pop("out", None) or "runs/sweep")
    typed = parse_grid([*(grid or []), *(axes or [])])
    every = {**_mapping(values.pop("grid", None), "grid"), **typed}
    listed = [values.pop("seed", 0)] if (found := values.pop("seeds", None)) is None else found
    fixed = parse_assignments(set_ or [])
    for name in typed:
        if name in fixed or name.removeprefix("train.") in training:
            raise UsageError(f"{name} is both fixed and in the grid. Leave one of the two out.")
    if "task" in training or "data" in training:
        values.pop("data" if "task" in training else "task", None)
    settings = {**_mapping(values.pop("settings", None), "settings"), **fixed}
    values.update(training, settings=settings)
    try:
        table = run(
            folder,
            grid={name: value if isinstance(value, list) else [value] for name, value in every.items()},
            seeds=_seeds(listed if seeds is None else seeds),
            train=values,
            on_cell=Announcer().cell,
        )
    except KeyboardInterrupt:
        err.print(f"\nThe table so far: {folder / 'sweep.csv'}", soft_wrap=True)
        raise
    _print_table(table, folder, json_)
    if table["runs"]["failed"]:
        raise typer.Exit(1)


def _mapping(value: object, name: str) -> dict[str, object]:
    if value is None or isinstance(value, dict):
        return value or {}
    raise UsageError(f"--config: {name} must hold names and values, for example {name}: {{sigma: …}}.")


def _seeds(given: Any) -> list[int]:
    parts = given.split(",") if isinstance(given, str) else given if isinstance(given, list) else [given]
    try:
        return [int(part) for part in parts]
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"--seeds {given}: expected whole numbers, for example --seeds 0,1,2.") from None


def _print_table(table: Mapping[str, Any], folder: Path, as_json: bool) -> None:
    if as_json:
        return print_json({"out": str(folder), **table})
    from unfooled.cli.show.benchmark_show import show_ranking

    show_ranking(table["rows"], several=len(table["seeds"]) > 1)
    for run in (run for row in table["rows"] for run in row["runs"]):
        if run["status"] == "failed":
            out.print(f"{Path(run['folder']).name} failed: {run['error']}", markup=False, soft_wrap=True)
    err.print(f"Table: {folder / 'sweep.json'}, {folder / 'sweep.csv'}", style="dim", soft_wrap=True)
