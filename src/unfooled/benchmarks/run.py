"""Benchmarks: every cell of a plan, run in order, resumably, and one report about them.

A cell that fails is shown and kept for the next call; the others go on, except those that need its result.
Ctrl-C and crashes leave what is finished: the same call goes on from there.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import yaml

from unfooled.api.arguments import checks_arguments
from unfooled.benchmarks.cells import Cell, make_cells
from unfooled.benchmarks.plan import Plan, scaled
from unfooled.benchmarks.plan_file import read_plan
from unfooled.benchmarks.state import State
from unfooled.errors import UsageError, UserError
from unfooled.files import write_text
from unfooled.records.results.documents import BenchmarkReport
from unfooled.storage.locks import alone
from unfooled.storage.provenance import command
from unfooled.storage.result_sets import set_aside
from unfooled.work.executor import make_executor

PLAN = "plan.yaml"
REPORT = "report.html"
Watch = Callable[[Cell], AbstractContextManager[Callable[..., None]]]


class Stopped(KeyboardInterrupt):
    """Ctrl-C: ``result`` is what :func:`benchmark` would return of what there is."""

    def __init__(self, result: BenchmarkReport) -> None:
        super().__init__()
        self.result = result


@checks_arguments
def benchmark(
    plan: str | Path | Mapping[str, Any] | Plan | None = None,
    out: str | Path | None = None,
    *,
    preset: str | None = None,
    scale: float = 1.0,
    variables: Mapping[str, Any] | None = None,
    dry_run: bool = False,
    workers: int | None = None,
    ray: str | None = None,
    on_cell: Callable[[Cell, Sequence[Mapping[str, Any]]], None] | None = None,
    watch: Watch | None = None,
) -> BenchmarkReport:
    """Run the plan in a YAML file (or a dictionary, or a preset) into ``out`` (default: runs/NAME).

    Returns the state of every cell (``cells``), how many there are of each (``counts``), the figures as a
    table (``rows``) and the page (``report``); Ctrl-C raises :class:`Stopped` with the same. ``scale`` makes
    all sizes smaller; ``dry_run`` checks everything and runs nothing. ``workers`` processes, or the Ray
    cluster at ``ray``, share the inputs of each attack, certification and repeat; cells run in order.
    ``on_cell`` is called before and after each cell with all records; ``watch`` gives the function that hears
    of the progress within one.

    >>> benchmark(preset="quick")["counts"]
    """
    if not 0 < scale <= 1:
        raise UsageError(f"--scale must be above 0 and at most 1, got {scale}.")
    make_executor(workers, ray)
    chosen = plan if isinstance(plan, Plan) else read_plan(plan, preset=preset, variables=variables)
    folder = Path("runs") / chosen.name if out is None else Path(out)
    _check_folder(folder)
    chosen = scaled(chosen, scale)
    cells = make_cells(chosen, folder)
    state = State(folder, chosen, cells, command())
    waiting = {name for name, record in state.records.items() if record["status"] != "done"}
    if waiting:
        from unfooled.benchmarks.check import check_cells

        check_cells(cells, waiting)
    if dry_run:
        return _result(state, cells)
    with alone(folder, "benchmark"):
        state = State(folder, chosen, cells, command())
        text = yaml.safe_dump(chosen.to_dict(), sort_keys=False, allow_unicode=True, width=110)
        write_text(folder / PLAN, text)
        state.save()
        share = {"workers": workers, "ray": ray}
        try:
            with _connected(ray, workers):
                for cell in cells:
                    if state.records[cell.name]["status"] != "done":
                        _run(
                            cell, state, on_cell or _ignore, watch or (lambda _: nullcontext(_ignore)), share
                        )
        except KeyboardInterrupt:
            raise Stopped(_result(state, cells, report=True)) from None
        return _result(state, cells, report=True)


def _connected(ray: str | None, workers: int | None) -> AbstractContextManager[Any]:
    """One connection to Ray for all cells; starting it takes seconds."""
    if ray is None:
        return nullcontext()
    from unfooled.work.ray_executor import connected

    return connected(ray, workers)


def _run(
    cell: Cell, state: State, on_cell: Callable[..., None], watch: Watch, share: Mapping[str, Any]
) -> None:
    record = state.records[cell.name]
    blocking = [name for name in cell.needs if state.records[name]["status"] != "done"]
    if blocking:
        state.update(cell, "pending", message=f"waits for {blocking[0]}")
        return
    from unfooled.benchmarks.cell_work import run_cell

    before, started = record["seconds"], time.monotonic()
    if record.get("afresh") and cell.kind != "train":
        set_aside(cell.result.parent)  # what failed under other conditions
        record["afresh"] = False
    state.update(cell, "running", message="", started=True, traceback=None)
    on_cell(cell, list(state.records.values()))

    def ended(status: str, message: str = "", **more: Any) -> None:
        state.update(cell, status, message=message, seconds=before + time.monotonic() - started, **more)

    try:
        with watch(cell) as tell:
            run_cell(cell, tell, share, afresh=bool(record.get("afresh")))
    except KeyboardInterrupt:
        ended("pending", "interrupted; goes on from where it was")
        raise
    except UserError as error:
        ended("failed", str(error))
    except Exception as error:  # one bad cell must not stop the others; the cause is kept in the state
        ended("failed", f"{type(error).__name__}: {error}".strip(), traceback=traceback.format_exc())
    else:
        ended("done", afresh=False)
    on_cell(cell, list(state.records.values()))


def _ignore(*_: Any) -> None:
    """For those who do not watch."""


def _result(state: State, cells: Sequence[Cell], *, report: bool = False) -> BenchmarkReport:
    from unfooled.benchmarks.result_tables import rank, tabulate

    path, problem = _write_report(state) if report else (None, None)
    document = {
        "name": state.plan.name,
        "out": str(state.out),
        "scale": state.plan.scale,
        "seeds": list(state.plan.seeds),
        "counts": state.counts,
        "cells": list(state.records.values()),
        "rows": tabulate(cells, state.records, state.plan.published),
        "ranking": rank(cells, state.records)["rows"] if any(cell.grid for cell in cells) else None,
        "published": state.plan.to_dict().get("published"),
        "report": path,
        "report_problem": problem,
    }
    return BenchmarkReport(document)


def _write_report(state: State) -> tuple[str | None, str | None]:
    """The page about the finished runs, and why there is none."""
    if not any(one["kind"] == "train" and one["status"] == "done" for one in state.records.values()):
        return None, None
    return write_page(state.out)


def write_page(folder: Path) -> tuple[str | None, str | None]:
    """Write the page of a benchmark; its path, or why it could not be written: a page costs no results."""
    from unfooled.api.report import report

    try:
        report(folder, out=folder / REPORT)
    except Exception as error:
        return None, str(error)
    return str(folder / REPORT), None


def _check_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file. Give --out a folder.")
    ours = {"benchmark.json", PLAN, "runs", REPORT, "sweep.json", "sweep.csv"}
    if folder.is_dir() and not (folder / "benchmark.json").is_file():
        others = sorted(
            path.name for path in folder.iterdir() if path.name not in ours and path.name[0] != "."
        )
        if others:
            raise UsageError(
                f"{folder} is not a benchmark and not empty ({others[0]}). Choose another --out."
            )
