"""Sweeps: one training run a cell of a grid and a seed, and one table (Moon et al. 2023, Tables 4 and 5).

Every cell is an ordinary run folder. Run the same sweep again: finished cells are taken as they are, an
interrupted one goes on from its checkpoint, a failed one is tried again. The table is rewritten after
every cell. Cells are ranked by dev accuracy; the test accuracy is reported and never chosen by.
"""

from __future__ import annotations

import csv
import io
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from unfooled.benchmarks.grid import Cell, check_cells, plan_cells, shown
from unfooled.errors import UsageError, UserError
from unfooled.files import read_json, write_json, write_text
from unfooled.statistics.spread import spread

FORMAT = 1
CHOSEN_BY = "dev accuracy, mean over seeds; the test accuracy is reported only"
DONE = ("trained", "reused")


def sweep(
    out: str | Path,
    *,
    grid: Mapping[str, Sequence[Any]],
    seeds: Sequence[int] = (0,),
    on_cell: Callable[[int, list[dict[str, Any]]], None] | None = None,
    **base: Any,
) -> dict[str, Any]:
    """Train or reuse every cell and return the table, also in ``out`` as ``sweep.json`` and ``sweep.csv``.

    ``base`` are the fields of :class:`TrainConfig` that all cells share. ``on_cell`` is called with the
    number of a cell and all runs, before the cell is trained and after.

    >>> sweep("runs/sweep", grid={"sigma": [0.1, 0.2]}, task="movie-reviews", defence="rsmi")["best"]
    """
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file. Give --out a folder.")
    cells = plan_cells(folder, grid, seeds, base)
    check_cells(cells)
    runs = [_result(cell, "reused") if cell.finished else _record(cell, "pending") for cell in cells]
    table = _save(folder, cells, runs)
    for number, cell in enumerate(cells):
        if runs[number]["status"] == "pending":
            if on_cell:
                on_cell(number, runs)
            runs[number] = _trained(cell)
            table = _save(folder, cells, runs)
            if on_cell:
                on_cell(number, runs)
    return table


def _record(cell: Cell, status: str, **more: Any) -> dict[str, Any]:
    return {"seed": cell.config.seed, "folder": str(cell.folder), "status": status, **more}


def _trained(cell: Cell) -> dict[str, Any]:
    from unfooled.api.train import train

    try:
        train(cell.folder, **cell.config.to_dict())
    except UserError as error:
        return _record(cell, "failed", error=str(error))
    except Exception as error:  # one bad cell must not stop the others; the cause is kept in the table
        reason = f"{type(error).__name__}: {error}".strip()
        return _record(cell, "failed", error=reason, traceback=traceback.format_exc())
    return _result(cell, "trained")


def _result(cell: Cell, status: str) -> dict[str, Any]:
    try:
        metrics = read_json(cell.folder / "metrics.json")
        return _record(
            cell,
            status,
            dev_accuracy=metrics["dev"]["accuracy"],
            dev_interval=metrics["dev"]["accuracy_interval"],
            dev_examples=metrics["dev"]["examples"],
            test_accuracy=metrics["test"]["accuracy"],
            test_interval=metrics["test"]["accuracy_interval"],
            test_examples=metrics["test"]["examples"],
            forwards_per_example=metrics["test"]["forwards_per_example"],
            train_seconds=metrics["train"]["seconds"],
            resumed=metrics["train"]["resumed"],
        )
    except (UserError, KeyError, TypeError) as error:
        reason = f"The results of the run cannot be read ({error}). Delete {cell.folder} to train it again."
        return _record(cell, "failed", error=reason)


def _save(out: Path, cells: Sequence[Cell], runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Write the table as it stands; a reader sees the one before or this one."""
    table = tabulate(cells, runs)
    write_json(out / "sweep.json", table)
    write_text(out / "sweep.csv", _csv(table))
    return table


def tabulate(cells: Sequence[Cell], runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One row a cell of the grid, over its seeds; complete rows first, best dev accuracy first."""
    grouped: dict[str, dict[str, Any]] = {}
    for cell, run in zip(cells, runs, strict=True):
        key = shown(list(cell.values.values()))
        grouped.setdefault(key, {"settings": cell.values, "runs": []})["runs"].append(run)
    rows = sorted((_row(**group) for group in grouped.values()), key=_rank)
    best = rows[0] if rows and rows[0]["status"] == "finished" else None
    if best is not None:
        best["best"] = True
    base = cells[0].config
    return {
        "format": FORMAT,
        "source": base.task or base.data,
        "defence": None if "defence" in cells[0].values else base.defence,
        "chosen_by": CHOSEN_BY,
        "seeds": list(dict.fromkeys(cell.config.seed for cell in cells)),
        "runs": {
            status: sum(run["status"] == status for run in runs)
            for status in ("trained", "reused", "failed", "pending")
        },
        "best": None if best is None else best["settings"],
        "rows": rows,
    }


def _row(settings: dict[str, Any], runs: list[dict[str, Any]]) -> dict[str, Any]:
    done = [run for run in runs if run["status"] in DONE]
    states = {"finished" if run["status"] in DONE else run["status"] for run in runs}
    row: dict[str, Any] = {
        "settings": settings,
        "best": False,
        "status": states.pop() if len(states) == 1 else "incomplete",
    }
    if done:
        row["dev"] = spread([run["dev_accuracy"] for run in done])
        row["test"] = spread([run["test_accuracy"] for run in done])
        # All seeds are tested on the same texts, so their answers must not be pooled into one interval.
        row["dev_interval"] = done[0]["dev_interval"] if len(done) == 1 else None
        row["test_interval"] = done[0]["test_interval"] if len(done) == 1 else None
        row["test_examples"] = done[0]["test_examples"]
        row["forwards_per_example"] = spread([run["forwards_per_example"] for run in done])["mean"]
        row["train_seconds"] = spread([run["train_seconds"] for run in done])["mean"]
    return row | {"runs": runs}


def _rank(row: dict[str, Any]) -> tuple[bool, float]:
    """Rows of which a seed is missing never beat a complete one; ties keep the order of the grid."""
    return row["status"] != "finished", -row["dev"]["mean"] if "dev" in row else 1.0


def _csv(table: dict[str, Any]) -> str:
    """The rows for a spreadsheet; what a row does not have stays empty."""
    flat = []
    for row in table["rows"]:
        runs = row["runs"]
        line: dict[str, Any] = {name: shown(value) for name, value in row["settings"].items()}
        line |= {"best": "yes" if row["best"] else "", "status": row["status"]}
        line["seeds_done"] = sum(run["status"] in DONE for run in runs)
        for split in ("dev", "test"):
            for name in ("mean", "std", "min", "max"):
                line[f"{split}_{name}"] = row.get(split, {}).get(name)
        line["test_low"], line["test_high"] = row.get("test_interval") or (None, None)
        line |= {name: row.get(name) for name in ("forwards_per_example", "train_seconds")}
        line["folders"] = "; ".join(run["folder"] for run in runs)
        line["errors"] = "; ".join(run["error"] for run in runs if "error" in run)
        flat.append(line)
    file = io.StringIO()
    writer = csv.DictWriter(file, list(flat[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return file.getvalue()
