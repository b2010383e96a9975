"""Accuracies that a paper published, without changes and certified, each beside ours over the seeds."""

from __future__ import annotations

from pathlib import Path

from unfooled.files import JsonMapping
from unfooled.records.evidence import Evidence, ModelEvidence
from unfooled.reports import tables
from unfooled.reports.certified import certified_at
from unfooled.reports.tables import Column, Table, TableCell
from unfooled.statistics.spread import spread


def beside(data: Evidence, published: JsonMapping) -> Table | None:
    """One row per published accuracy that is not about an attack; None if there is none."""
    figures = [one for one in published.get("figures", ()) if not one.get("attack")]
    if not figures:
        return None
    source = str(published["source"])
    columns = [
        *(Column(title, numeric=False) for title in ("Task", "Their model", "Our model", "Measure")),
        Column("Theirs", meaning=source),
        Column("Ours", meaning="mean over the seeds, with the standard deviation"),
        Column("Seeds"),
    ]
    rows = [_row(data, one) for one in figures]
    note = f" ({published['note']})" if published.get("note") else ""
    caption = f"Theirs: {source}, as published{note}. Other networks, data and settings; compare with care."
    return Table("published-certified", caption, columns, rows)


def _row(data: Evidence, figure: JsonMapping) -> list[TableCell]:
    models = [
        one for one in data.models if (one.task, one.defence) == (figure["task"], figure.get("defence"))
    ]
    if figure.get("certificate") is None:
        measure, theirs = "accuracy", figure.get("sacc")
        known = [model.run.accuracy for model in models if model.run]
    else:
        by = f" by {figure['bound']}" if figure.get("bound") else ""
        measure, theirs = f"certified at {figure.get('radius') or 0:g}{by}", figure.get("certified")
        known = [value for model in models if (value := _certified(model, figure)) is not None]
    found = spread(known) if known else None
    ours = tables.NOTHING
    if found is not None:
        std = "" if found["std"] is None else f"± {found['std'] * 100:.1f} points"
        ours = TableCell(found["mean"], tables.plain_share(found["mean"]).text, std)
    return [
        *(tables.words(str(figure.get(key) or tables.ABSENT)) for key in ("task", "model", "defence")),
        tables.words(measure),
        tables.plain_share(None if theirs is None else float(theirs) / 100),
        ours,
        tables.whole(len(known) or None),
    ]


def _certified(model: ModelEvidence, figure: JsonMapping) -> float | None:
    for one in model.certified:
        if Path(one.folder).name == figure["certificate"]:
            bound = figure.get("bound") if figure.get("bound") in one.summary["by_bound"] else None
            value: float | None = certified_at(one, float(figure.get("radius") or 0.0), bound)["value"]
            return value
    return None
