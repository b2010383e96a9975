"""``unfooled sweep``: train a grid of settings and seeds, and tabulate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from unfooled.cli import options
from unfooled.cli.console import JsonOption, err, out, print_json
from unfooled.cli.declared import Options, takes
from unfooled.errors import UsageError
from unfooled.storage.config import TrainConfig, read_config


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
    training: dict[str, Any],
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
    chosen on dev; test accuracy is only reported. Leaves with code 1 if a cell failed.
    """
    from unfooled.benchmarks.grid import parse_grid
    from unfooled.benchmarks.sweep import sweep as run
    from unfooled.settings import parse_assignments

    values: dict[str, Any] = read_config(config) if config else {}
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
            on_cell=_announce,
            **values,
        )
    except KeyboardInterrupt:
        err.print(f"\nThe table so far: {folder / 'sweep.csv'}", soft_wrap=True)
        raise
    _print_table(table, folder, json_)
    if table["runs"]["failed"]:
        raise typer.Exit(1)


def _mapping(value: Any, name: str) -> dict[str, Any]:
    if value is None or isinstance(value, dict):
        return value or {}
    raise UsageError(f"--config: {name} must hold names and values, for example {name}: {{sigma: …}}.")


def _seeds(given: Any) -> list[int]:
    parts = given.split(",") if isinstance(given, str) else given if isinstance(given, list) else [given]
    try:
        return [int(part) for part in parts]
    except (TypeError, ValueError):
        raise UsageError(f"--seeds {given}: expected whole numbers, for example --seeds 0,1,2.") from None


def _announce(number: int, runs: list[dict[str, Any]]) -> None:
    """Where the sweep stands, on stderr: before and after each cell that is trained."""
    run = runs[number]
    if run["status"] == "failed":
        err.print(f"failed: {run['error']}", style="red", markup=False, soft_wrap=True)
    elif run["status"] == "trained":
        err.print(f"dev accuracy {run['dev_accuracy']:.4f}, {run['train_seconds']:.0f} s")
    else:
        spent = [other["train_seconds"] for other in runs if other["status"] == "trained"]
        waiting = sum(other["status"] == "pending" for other in runs)
        left = f", about {sum(spent) / len(spent) * waiting / 60:.0f} min of training left" if spent else ""
        line = f"({number + 1}/{len(runs)}) {Path(run['folder']).name}{left}"
        err.print(line, markup=False, soft_wrap=True)


def _print_table(table: dict[str, Any], folder: Path, as_json: bool) -> None:
    if as_json:
        return print_json({"out": str(folder), **table})
    from rich.console import Console
    from rich.table import Table

    from unfooled.benchmarks.grid import shown

    several = len(table["seeds"]) > 1
    view = Table(box=None, pad_edge=False, header_style="bold")
    view.add_column("", min_width=4, no_wrap=True)
    for name in table["rows"][0]["settings"]:
        view.add_column(name, overflow="fold")
    test = ["test±std", "max", "min"] if several else ["test (95 %)"]
    for name in ["dev±std" if several else "dev (95 %)", *test, "forwards", "seconds"]:
        view.add_column(name, justify="right", no_wrap=True)
    for row in table["rows"]:
        cells = [shown(value) for value in row["settings"].values()]
        if "dev" not in row:
            view.add_row("", *cells, row["status"], style="dim")
            continue
        ends = [f"{row['test'][name]:.3f}" for name in ("max", "min")] if several else []
        costs = [f"{row['forwards_per_example']:.1f}", f"{row['train_seconds']:.0f}"]
        mark = "best" if row["best"] else "" if row["status"] == "finished" else "part"
        style = "green" if row["best"] else ""
        view.add_row(mark, *cells, _number(row, "dev"), _number(row, "test"), *ends, *costs, style=style)
    # In a file or pipe nothing is cut to a terminal's width.
    (out if out.is_terminal else Console(highlight=False, width=200)).print(view)
    note = "Chosen on dev accuracy; test accuracy is reported only and played no part in the choice."
    out.print(note, soft_wrap=True)
    for run in (run for row in table["rows"] for run in row["runs"]):
        if run["status"] == "failed":
            out.print(f"{Path(run['folder']).name} failed: {run['error']}", markup=False, soft_wrap=True)
    err.print(f"Table: {folder / 'sweep.json'}, {folder / 'sweep.csv'}", style="dim", soft_wrap=True)


def _number(row: dict[str, Any], split: str) -> str:
    """``0.812±0.004`` over seeds, or ``0.812 (0.79–0.83)`` for one."""
    number, interval = row[split], row[f"{split}_interval"]
    if interval is not None:
        return f"{number['mean']:.3f} ({interval[0]:.2f}–{interval[1]:.2f})"
    return f"{number['mean']:.3f}±{number['std']:.3f}"
