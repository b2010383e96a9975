"""Sweeps: a plan with one task and one defence, whose grid is trained for every seed and ranked.

Cells, state, resume and failures are those of a benchmark; ``sweep.json`` and ``sweep.csv`` hold the ranking
and are rewritten after every cell (Moon et al. 2023, Tables 4 and 5).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from unfooled.api.arguments import checks_arguments
from unfooled.benchmarks.cells import Cell, make_cells
from unfooled.benchmarks.grid import DATA
from unfooled.benchmarks.plan import Plan
from unfooled.benchmarks.plan_file import make_plan
from unfooled.benchmarks.result_tables import rank, ranking_csv
from unfooled.benchmarks.run import benchmark
from unfooled.errors import UsageError
from unfooled.files import write_json, write_text
from unfooled.records.results.documents import SweepReport
from unfooled.settings import check_names
from unfooled.storage.config import TrainConfig

OnCell = Callable[[Cell, Sequence[Mapping[str, object]]], None]


@checks_arguments
def sweep(
    out: str | Path,
    *,
    grid: Mapping[str, Sequence[object]],
    train: Mapping[str, object],
    seeds: Sequence[int] = (0,),
    on_cell: OnCell | None = None,
) -> SweepReport:
    """Train or reuse every cell and return the table, also in ``out`` as ``sweep.json`` and ``sweep.csv``.

    ``train`` are the parameters of :func:`unfooled.train` that all cells share. ``on_cell`` is called before
    and after each cell with all records, as by :func:`unfooled.benchmark`.

    >>> sweep("runs/sweep", grid={"sigma": [0.1, 0.2]}, train={"task": "spam", "defence": "rsmi"})["best"]
    """
    folder = Path(out)
    plan = sweep_plan(grid, seeds, train)
    cells = make_cells(plan, folder)
    now: set[str] = set()

    def save(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Write the table as it stands; a reader sees the one before or this one."""
        table = rank(cells, {record["name"]: record for record in records}, now)
        write_json(folder / "sweep.json", table)
        write_text(folder / "sweep.csv", ranking_csv(table))
        return table

    def hear(cell: Cell, records: Sequence[Mapping[str, object]]) -> None:
        now.add(cell.name)
        save(records)
        if on_cell:
            on_cell(cell, records)

    return SweepReport(save(benchmark(plan, folder, on_cell=hear)["cells"]))


def sweep_plan(
    grid: Mapping[str, Sequence[object]], seeds: Sequence[int], train: Mapping[str, object]
) -> Plan:
    """The plan of a sweep: what the parameters of a training and a grid of some of them mean."""
    seeds = list(seeds)
    if not seeds or len(set(seeds)) != len(seeds):
        raise UsageError("--seeds: give one or more different seeds, for example --seeds 0,1,2.")
    if not grid and len(seeds) < 2:
        raise UsageError("There is nothing to vary. Give --grid name=values, or several --seeds.")
    check_names(train, [f.name for f in fields(TrainConfig)], "the training configuration")
    values = {name: value for name, value in train.items() if value is not None and name != "seed"}
    defence = str(values.pop("defence", "standard"))
    settings = values.pop("settings", {})
    task = {name: values.pop(name) for name in (*DATA, "encoding") if name in values}
    source = Path(str(task.get("task") or task.get("data") or "task")).stem
    return make_plan(
        {
            "name": "sweep",
            "description": "A grid of settings, ranked by dev accuracy.",
            "seeds": seeds,
            "train": values,
            "tasks": [{"name": re.sub(r"[^A-Za-z0-9_.+-]+", "-", source).strip("-.")[:59] or "data", **task}],
            "defences": [{"name": defence, "settings": settings, "grid": dict(grid)}],
        },
        source="sweep",
    )
