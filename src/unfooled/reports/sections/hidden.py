"""Hidden states: how far an attack moves them layer by layer (Moon et al. 2023, Figure 2), and a map of the
final states of clean, fickle and obstinate texts (Chen et al. 2022, Figure 5)."""

from __future__ import annotations

from unfooled.files import JsonMapping, JsonObject
from unfooled.records.evidence import Evidence
from unfooled.reports import tables
from unfooled.reports.charts import Axis, Lines, Point, Scatter, Series
from unfooled.reports.section import Content, Section
from unfooled.reports.svg import SLOTS
from unfooled.reports.tables import Column, Table

KINDS = ("clean", "fickle", "obstinate")
MEASURES = (
    ("l2", "L2 distance between clean and attacked", "L2 distance"),
    ("cosine", "Cosine similarity of clean and attacked", "cosine similarity"),
)


def content(data: Evidence) -> Content:
    compared = [(one.of(model.name), one.found) for model in data.models for one in model.representations]
    drift = [(name, one) for name, found in compared for one in found.get("drift", ())]
    # Models of different depth share one axis, that of the deepest.
    layers = max((list(found["layers"]) for _, found in compared), key=len, default=[])
    drawn = [chart for measure in MEASURES if (chart := _drift_chart(drift, layers, *measure))]
    maps = [made for name, found in compared if (made := _map(name, found))]
    if not drift and not maps:
        return None
    notes = [
        f"{name}, {one['attack']}: these texts were made for other weights than the run's."
        for name, one in drift
        if one.get("transfer")
    ]
    return {"tables": [_table(drift)] if drift else [], "charts": drawn, "maps": maps, "notes": notes}


def _drift_chart(
    drift: list[tuple[str, JsonObject]], layers: list[str], key: str, title: str, up: str
) -> Lines | None:
    if not drift:
        return None
    banded = all(one.get(f"{key}_interval") for _, one in drift)
    series = [
        Series(
            f"{name} · {one['attack']}",
            list(enumerate(map(float, one[key]))),
            number % SLOTS + 1,
            [(low, high) for low, high in one[f"{key}_interval"]] if banded else (),
        )
        for number, (name, one) in enumerate(drift)
    ]
    return Lines(f"drift-{key}", title, series, over="layer", x=Axis(names=layers), y=Axis(up))


def _table(drift: list[tuple[str, JsonObject]]) -> Table:
    columns = [
        Column("Model", numeric=False),
        Column("Attack", numeric=False),
        Column("Inputs"),
        Column("L2, first block"),
        Column("L2, last block"),
        Column("Cosine, first block"),
        Column("Cosine, last block"),
    ]
    rows = [
        [
            tables.words(name),
            tables.words(str(one["attack"])),
            tables.whole(one["inputs"]),
            *(_at(one, key, place) for key in ("l2", "cosine") for place in (1, -1)),  # 0: embeddings
        ]
        for name, one in drift
    ]
    caption = "How far attacked texts lie from their clean originals inside the model, with 95 % intervals."
    return Table("drift", caption, columns, rows)


def _at(one: JsonObject, key: str, place: int) -> tables.TableCell:
    intervals = one.get(f"{key}_interval")
    found = {
        "value": one[key][place],
        "n": one["inputs"],
        "interval": intervals[place] if intervals else None,
    }
    return tables.mean(found)


def _map(name: str, compared: JsonMapping) -> Scatter | None:
    found = compared.get("map") or {}
    ordered = sorted(found.get("points", ()), key=lambda point: (KINDS.index(point["kind"]), point["label"]))
    if not ordered:
        return None
    labels = [f"{point['kind']}, {point['label']}" for point in ordered]
    colours = {label: number % SLOTS + 1 for number, label in enumerate(dict.fromkeys(labels))}
    points = [
        Point(label, float(point["x"]), float(point["y"]), colours[label])
        for label, point in zip(labels, ordered, strict=True)
    ]
    first, second = (f" ({share:.0%} of the variance)" for share in found["explained"][:2])
    return Scatter(
        f"map-{name}",
        f"{name}: final states",
        points,
        x=Axis(f"first component{first}"),
        y=Axis(f"second component{second}"),
        named=False,
        note=f"{found['method']}." if found.get("method") else "",
    )


SECTION = Section("hidden", "Inside the model", content)
