"""The state of a benchmark in ``benchmark.json``: what is done, failed or left, and how long it took.

The file is rewritten whole whenever a cell changes, so a killed benchmark leaves the last state. A cell that
has work in the folder under other conditions than the plan now says is refused, never overwritten. Only
representations, which are computed from the other results in minutes, are simply made anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from unfooled import __version__
from unfooled.benchmarks.cells import Cell
from unfooled.benchmarks.plan import Plan
from unfooled.errors import UsageError, UserError
from unfooled.files import JsonMapping, JsonObject, read_json, read_yaml, write_json
from unfooled.records.shapes.benchmark_shapes import StateShape
from unfooled.storage.config import conditions_of
from unfooled.storage.questions import differences

FORMAT = 1
STATE = "benchmark.json"
STATUSES = ("done", "failed", "running", "pending")
_SHOWN = 5
_SAID = {
    "encoder.key": "the model it starts from",
    "source.key": "the model its images are crafted on",
    "trained": "the training of its model",
}
_KEPT = ("message", "seconds", "started", "traceback", "afresh")


class State:
    """The records of all cells, kept in the file."""

    def __init__(self, out: Path, plan: Plan, cells: Sequence[Cell], command: str | None = None) -> None:
        self.out, self.plan, self.command = out, plan, command
        before = _read(out)
        self._before = {record["name"]: record for record in (*before["cells"], *before["left_out"])}
        changed: list[str] = []
        self.records = {cell.name: self._taken_over(cell, changed) for cell in cells}
        if changed:
            raise UsageError(_refusal(out, changed, before.get("scale", 1.0), plan.scale))

    def _taken_over(self, cell: Cell, changed: list[str]) -> JsonObject:
        """The record of a cell that the folder knows already, or a new one."""
        old = self._before.get(cell.name)
        if old is None:
            if cell.kind == "train" and (cell.run / "config.yaml").is_file():
                changed += _other_training(cell)
                return _record(cell, "done" if cell.result.is_file() else "pending", started=True)
            return _record(cell, "pending")
        kept = {name: old[name] for name in _KEPT if name in old}
        changes = list(differences(old["conditions"], cell.conditions, _SAID))
        if changes and cell.kind == "representations":
            return _record(cell, "pending")
        if changes and old["status"] == "failed":
            return _record(cell, "pending", afresh=True)
        if changes and old["started"]:
            changed.append(f"{cell.name} ({', '.join(changes)})")
        finished = cell.result.is_file() and (old["status"] == "done" or cell.kind == "train")
        return _record(cell, "done" if finished else "pending", **kept)

    @property
    def counts(self) -> dict[str, int]:
        found = [record["status"] for record in self.records.values()]
        return {status: found.count(status) for status in STATUSES}

    def update(self, cell: Cell, status: str, **more: object) -> dict[str, object]:
        """Change a record and write the file."""
        self.records[cell.name] |= {"status": status, **more}
        self.save()
        return self.records[cell.name]

    def save(self) -> None:
        left_out = [record for name, record in self._before.items() if name not in self.records]
        write_json(
            self.out / STATE,
            {
                "format": FORMAT,
                "unfooled": __version__,
                "name": self.plan.name,
                "scale": self.plan.scale,
                "command": self.command,
                "counts": self.counts,
                "cells": list(self.records.values()),
                "left_out": left_out,
            },
        )


def time_left(records: Sequence[JsonMapping]) -> tuple[float, bool]:
    """Seconds that the cells which are left will take, and whether all of them could be guessed.

    A guess is the mean of the finished cells of the same kind, attack and defence; else of the same kind and
    defence; else of the same kind.
    """
    total, whole = 0.0, True
    done = [record for record in records if record["status"] == "done" and record["seconds"] > 0]
    for record in records:
        if record["status"] not in ("pending", "running"):
            continue
        for same in (("kind", "what", "defence"), ("kind", "defence"), ("kind",)):
            alike = [one["seconds"] for one in done if all(one[key] == record[key] for key in same)]
            if alike:
                total += sum(alike) / len(alike)
                break
        else:
            whole = False
    return total, whole


def _record(cell: Cell, status: str, **more: object) -> dict[str, object]:
    from unfooled.benchmarks.cell_work import command_of

    return {
        "name": cell.name,
        "kind": cell.kind,
        "task": cell.task,
        "defence": cell.defence,
        "seed": cell.seed,
        "what": cell.what,
        "grid": cell.grid,
        "run": f"runs/{cell.run.name}",
        "status": status,
        "message": "",
        "seconds": 0.0,
        "command": command_of(cell),
        "started": False,
        "key": cell.key,
        "conditions": cell.conditions,
        **more,
    }


def _read(out: Path) -> JsonObject:
    file = out / STATE
    if not file.is_file():
        return {"cells": [], "left_out": []}
    remedy = "Copy the folder again, or choose another --out."
    found: JsonObject = read_json(file, StateShape, remedy=remedy)
    if found["format"] != FORMAT:
        raise UserError(f"{file} is of another version of unfooled (format {found['format']}). {remedy}")
    return found


def _other_training(cell: Cell) -> list[str]:
    """What a run that no state knows has otherwise; the folder it starts from may be spelled differently."""
    before, now = conditions_of(read_yaml(cell.run / "config.yaml")), cell.config.conditions()
    if cell.needs:
        del before["encoder"], now["encoder"]
    found = list(differences(before, now))
    return [f"{cell.name} ({', '.join(found)})"] if found else []


def _refusal(out: Path, changed: Sequence[str], before: float, now: float) -> str:
    more = f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
    scale = f" It was run with --scale {before:g}, now it is {now:g}." if before != now else ""
    return (
        f"{out} holds results of another plan: {'; '.join(changed[:_SHOWN])}{more}.{scale} Results are never "
        "overwritten: choose another --out for the changed plan, or undo the change to go on."
    )
