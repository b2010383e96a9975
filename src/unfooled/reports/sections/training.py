"""Loss and dev accuracy over the epochs, drawn where there are two points or more."""

from __future__ import annotations

from unfooled.records.evidence import Evidence
from unfooled.reports.charts import Axis, Lines, Series
from unfooled.reports.section import Content, Section, slots

CURVES = (("Training loss", "losses", False), ("Dev accuracy", "dev", True))


def content(data: Evidence) -> Content:
    drawn = []
    for title, name, percent in CURVES:
        series = [
            Series(run.name, getattr(run, name), slots(data)[run.name])
            for run in data.runs
            if len(getattr(run, name)) > 1
        ]
        if series:
            drawn.append(Lines(name, title, series, over="epoch", y=Axis(percent=percent)))
    best = [(run, *max(run.dev, key=lambda point: point[1])) for run in data.runs if run.dev]
    return {"charts": drawn, "best": best} if drawn or best else None


SECTION = Section("training", "Training", content)
