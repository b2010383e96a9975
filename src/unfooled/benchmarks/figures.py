"""The figures of a benchmark: one row a task and defence (Moon et al. 2023, Tables 1 and 5).

One seed has the interval of its inputs. Several have mean and standard deviation (n − 1): all are measured
on the same test texts, so their answers are not pooled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unfooled.benchmarks.cells import Cell
from unfooled.files import read_json
from unfooled.statistics.spread import spread

_RATES = ("sacc", "racc", "racc_verified", "asr", "asr_verified")
_CERTIFIED = ("certified_accuracy", "abstention", "asked")


def tabulate(cells: Sequence[Cell], records: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A row a task and defence in the order of the plan, made of the cells that are done."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    found: dict[tuple[str, str], dict[tuple[str, str], list[Any]]] = {}
    for cell in cells:
        key = (cell.task, cell.defence)
        rows.setdefault(key, {"task": cell.task, "defence": cell.defence})
        if records[cell.name]["status"] == "done" and cell.kind != "representations":
            file = cell.run / "metrics.json" if cell.kind == "train" else cell.result
            values = found.setdefault(key, {}).setdefault((cell.kind, cell.what or ""), [])
            values.append(read_json(file))
    for key, row in rows.items():
        row.update(clean=None, attacks={}, certificates={}, repeated=None)
        for (kind, what), results in found.get(key, {}).items():
            if kind == "train":
                row["clean"] = _clean(results)
            elif kind == "attack":
                row["attacks"][what] = _attack(results)
            elif kind == "certify":
                row["certificates"][what] = _certificate(results)
            else:
                row["repeated"] = _repeated(results)
    return list(rows.values())


def _clean(results: Sequence[Any]) -> dict[str, Any]:
    tests = [one["test"] for one in results]
    return {
        "accuracy": _over([one["accuracy"] for one in tests], [one["accuracy_interval"] for one in tests]),
        "inputs": tests[0]["examples"],
        "forwards": _over([one["forwards_per_example"] for one in tests]),
        "train_seconds": _over([one["train"]["seconds"] for one in results]),
    }


def _attack(results: Sequence[Any]) -> dict[str, Any]:
    summaries = [one["summary"] for one in results]
    return {
        "recipe": results[0]["recipe"]["name"],
        "goal": summaries[0]["goal"],
        "randomised": summaries[0]["randomised"],
        "inputs": summaries[0]["examples"],
        **{name: _measured(summaries, name) for name in (*_RATES, "queries", "forwards")},
    }


def _certificate(results: Sequence[Any]) -> dict[str, Any]:
    summaries = [one["summary"] for one in results]
    return {
        "threat": results[0]["threat"],
        "alpha": results[0]["sampling"]["alpha"],
        "unit": summaries[0]["unit"],
        "radius": summaries[0].get("asked", {}).get("radius"),
        "inputs": summaries[0]["inputs"] - summaries[0]["counts"]["refused"],
        **{name: _measured(summaries, name) for name in (*_CERTIFIED, "average_radius", "samples")},
    }


def _repeated(results: Sequence[Any]) -> dict[str, Any]:
    return {
        "random": results[0]["random"],
        "repeats": results[0]["repeats"],
        "inputs": results[0]["inputs"],
        "accuracy": _over([one["accuracy"]["mean"] for one in results]),
        "std": _over([one["accuracy"]["std"] or 0.0 for one in results]),
        "changed_share": _over([one["changed_share"] for one in results]),
    }


def _measured(summaries: Sequence[Any], name: str) -> dict[str, Any] | None:
    """A figure with ``value`` and perhaps ``interval``; None where no seed has it."""
    have = [one[name] for one in summaries if name in one and one[name]["value"] is not None]
    return _over([one["value"] for one in have], [one.get("interval") for one in have]) if have else None


def _over(values: Sequence[float], intervals: Sequence[Any] = ()) -> dict[str, Any]:
    return spread(values) | {"interval": intervals[0] if len(values) == 1 and intervals else None}
