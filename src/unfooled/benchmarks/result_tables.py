"""The figures of a benchmark: one row per task and model (Moon et al. 2023, Tables 1 and 5), and the ranking
of the models of a grid (Tables 4 and 5), by dev accuracy; the test accuracy is reported and never chosen by.

One seed has the interval of its inputs. Several have mean and standard deviation (n − 1): all are measured
on the same test texts, so their answers are not pooled.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from unfooled.benchmarks.cells import Cell
from unfooled.benchmarks.grid import shown
from unfooled.benchmarks.plan import Published
from unfooled.errors import UserError
from unfooled.files import JsonMapping, JsonObject, read_json
from unfooled.records.metric import clean_score
from unfooled.records.shapes.benchmark_shapes import CellMetrics
from unfooled.records.shapes.result_shapes import AttackShape, CertificatesShape, RepeatShape
from unfooled.reports.certified import certified_at
from unfooled.statistics.spread import spread
from unfooled.untrusted import csv_text

SHAPES = {"train": CellMetrics, "attack": AttackShape, "certify": CertificatesShape, "repeat": RepeatShape}
"""What the result of a cell must hold."""
_RATES = ("sacc", "racc", "racc_verified", "asr", "asr_verified")
_CERTIFIED = ("certified_accuracy", "abstention", "asked")


def tabulate(
    cells: Sequence[Cell], records: Mapping[str, JsonMapping], published: Published | None = None
) -> list[JsonObject]:
    """A row per task and model in the order of the plan, made of the cells that are done."""
    rows: dict[tuple[str, str], JsonObject] = {}
    found: dict[tuple[str, str], dict[tuple[str, str], list[Any]]] = {}
    for cell in cells:
        key = (cell.task, cell.defence)
        rows.setdefault(key, {"task": cell.task, "defence": cell.defence})
        if records[cell.name]["status"] == "done" and cell.kind != "representations":
            file = cell.run / "metrics.json" if cell.kind == "train" else cell.result
            values = found.setdefault(key, {}).setdefault((cell.kind, cell.what or ""), [])
            values.append(read_json(file, SHAPES[cell.kind]))
    for key, row in rows.items():
        row.update(clean=None, attacks={}, certificates={}, repeated=None)
        for (kind, what), results in found.get(key, {}).items():
            if kind == "train":
                row["clean"] = _clean(results)
            elif kind == "attack":
                row["attacks"][what] = _attack(results)
            elif kind == "certify":
                row["certificates"][what] = _certificate(results)
                done = [one for one in cells if (one.task, one.defence, one.what) == (*key, what)]
                done = [one for one in done if records[one.name]["status"] == "done"]
                row["certificates"][what]["beside"] = _beside(done, published)
            else:
                row["repeated"] = _repeated(results)
    return list(rows.values())


def _clean(results: Sequence[Any]) -> JsonObject:
    tests = [one["test"] for one in results]
    scores = [clean_score(one) for one in tests]
    return {
        "accuracy": _over([one.value for one in scores], [[one.low, one.high] for one in scores]),
        "inputs": tests[0]["examples"],
        "forwards": _over([one["forwards_per_example"] for one in tests]),
        "train_seconds": _over([one["train"]["seconds"] for one in results]),
    }


def _attack(results: Sequence[Any]) -> JsonObject:
    summaries = [one["summary"] for one in results]
    return {
        "recipe": results[0]["recipe"]["name"],
        "goal": summaries[0]["goal"],
        "randomised": summaries[0]["randomised"],
        "inputs": summaries[0]["examples"],
        **{name: _measured(summaries, name) for name in (*_RATES, "queries", "forwards")},
    }


def _certificate(results: Sequence[Any]) -> JsonObject:
    summaries = [one["summary"] for one in results]
    return {
        "threat": results[0]["threat"],
        "alpha": results[0]["sampling"]["alpha"],
        "unit": summaries[0]["unit"],
        "radius": summaries[0].get("asked", {}).get("radius"),
        "inputs": summaries[0]["inputs"] - summaries[0]["counts"]["refused"],
        **{name: _measured(summaries, name) for name in (*_CERTIFIED, "average_radius", "samples")},
    }


def _beside(cells: Sequence[Cell], published: Published | None) -> list[JsonObject]:
    """Published certified accuracies for these cells, each with ours at the same radius, by the same bound.

    A bound that was not computed here is left out: then ours is that of the certificate.
    """
    from unfooled.api.jobs.certify_job import read_certificates

    figures = [
        one
        for one in (published.figures if published else ())
        if cells
        and one.certified is not None
        and (one.task, one.defence, one.certificate) == (cells[0].task, cells[0].defence, cells[0].what)
    ]
    if not figures:
        return []
    reports = [read_certificates(cell.result.parent) for cell in cells]
    found = []
    for one in figures:
        bound = one.bound if one.bound in reports[0].summary["by_bound"] else None
        ours = [certified_at(report, one.radius or 0.0, bound) for report in reports]
        known = [own for own in ours if own["value"] is not None]
        found.append(
            {
                "model": one.model,
                "radius": one.radius or 0.0,
                "bound": bound,
                "published": one.certified,
                "ours": _over([own["value"] for own in known], [own["interval"] for own in known])
                if known
                else None,
            }
        )
    return found


def _repeated(results: Sequence[Any]) -> JsonObject:
    return {
        "random": results[0]["random"],
        "repeats": results[0]["repeats"],
        "inputs": results[0]["inputs"],
        "accuracy": _over([one["accuracy"]["mean"] for one in results]),
        "std": _over([one["accuracy"]["std"] or 0.0 for one in results]),
        "changed_share": _over([one["changed_share"] for one in results]),
    }


def _measured(summaries: Sequence[Any], name: str) -> JsonObject | None:
    """A figure with ``value`` and perhaps ``interval``; None where no seed has it."""
    have = [one[name] for one in summaries if name in one and one[name]["value"] is not None]
    return _over([one["value"] for one in have], [one.get("interval") for one in have]) if have else None


def _over(values: Sequence[float], intervals: Sequence[Any] = ()) -> JsonObject:
    return spread(values) | {"interval": intervals[0] if len(values) == 1 and intervals else None}


CHOSEN_BY = "dev accuracy, mean over seeds; the test accuracy is reported only"
TRAINED = ("trained", "reused")


def rank(cells: Sequence[Cell], records: Mapping[str, JsonMapping], now: Collection[str] = ()) -> JsonObject:
    """One row per model over its seeds; complete rows first, best dev accuracy first.

    ``now`` names the cells that were trained by this call; others that are done were reused.
    """
    models = [cell for cell in cells if cell.kind == "train"]
    runs = [_run(cell, records[cell.name], trained=cell.name in now) for cell in models]
    grouped: dict[tuple[str, str], JsonObject] = {}
    for cell, run in zip(models, runs, strict=True):
        key = (cell.task, cell.defence)
        grouped.setdefault(key, {"settings": cell.grid, "runs": []})["runs"].append(run)
    rows = sorted((_row(**group) for group in grouped.values()), key=_place)
    best = rows[0] if rows and rows[0]["status"] == "finished" else None
    if best is not None:
        best["best"] = True
    base = models[0].config
    return {
        "format": 1,
        "source": base.task or base.data,
        "defence": base.defence if len({cell.config.defence for cell in models}) == 1 else None,
        "chosen_by": CHOSEN_BY,
        "seeds": list(dict.fromkeys(cell.seed for cell in models)),
        "runs": {
            status: sum(run["status"] == status for run in runs) for status in (*TRAINED, "failed", "pending")
        },
        "best": None if best is None else best["settings"],
        "rows": rows,
    }


def _run(cell: Cell, record: JsonMapping, *, trained: bool) -> JsonObject:
    """What the ranking says of one training."""
    told = {"seed": cell.seed, "folder": str(cell.run)}
    if record["status"] == "failed":
        return told | {"status": "failed", "error": record["message"]}
    if record["status"] != "done":
        return told | {"status": "pending"}
    try:
        metrics = read_json(cell.run / "metrics.json", CellMetrics)
        found: JsonObject = {}
        for split in ("dev", "test"):
            score = clean_score(metrics[split])
            found[f"{split}_accuracy"] = score.value
            found[f"{split}_interval"] = [score.low, score.high]
            found[f"{split}_examples"] = metrics[split]["examples"]
        found["forwards_per_example"] = metrics["test"]["forwards_per_example"]
        found |= {"train_seconds": metrics["train"]["seconds"], "resumed": metrics["train"]["resumed"]}
    except (UserError, KeyError, TypeError) as error:
        return told | {"status": "failed", "error": f"The results of the run cannot be read ({error})."}
    return told | {"status": "trained" if trained else "reused", **found}


def _row(settings: JsonObject, runs: list[JsonObject]) -> JsonObject:
    done = [run for run in runs if run["status"] in TRAINED]
    states = {"finished" if run["status"] in TRAINED else run["status"] for run in runs}
    row: JsonObject = {
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


def _place(row: JsonObject) -> tuple[bool, float]:
    """Rows of which a seed is missing never beat a complete one; ties keep the order of the grid."""
    return row["status"] != "finished", -row["dev"]["mean"] if "dev" in row else 1.0


def ranking_csv(table: JsonObject) -> str:
    """The rows of a ranking for a spreadsheet; what a row does not have stays empty."""
    flat = []
    for row in table["rows"]:
        runs = row["runs"]
        line: JsonObject = {
            name: value if type(value) in (int, float) else shown(value)
            for name, value in row["settings"].items()
        }
        line |= {"best": "yes" if row["best"] else "", "status": row["status"]}
        line["seeds_done"] = sum(run["status"] in TRAINED for run in runs)
        for split in ("dev", "test"):
            for name in ("mean", "std", "min", "max"):
                line[f"{split}_{name}"] = row.get(split, {}).get(name)
        line["test_low"], line["test_high"] = row.get("test_interval") or (None, None)
        line |= {name: row.get(name) for name in ("forwards_per_example", "train_seconds")}
        line["folders"] = "; ".join(run["folder"] for run in runs)
        line["errors"] = "; ".join(run["error"] for run in runs if "error" in run)
        flat.append(line)
    return csv_text(list(flat[0]), ([line.get(name) for name in flat[0]] for line in flat))
