"""Loss and dev accuracy over the epochs, drawn where there are two points or more."""

from __future__ import annotations

from unfooled.records.evidence import Evidence
from unfooled.records.results.trained_run import Run
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
    kept = [(run, *_kept(run)) for run in data.runs if run.dev]
    return {"charts": drawn, "kept": kept} if drawn or kept else None


def _kept(run: Run) -> tuple[float, float]:
    """The epoch that was kept and its dev accuracy; of older runs, which do not say, the best one."""
    named = [point for point in run.dev if point[0] == run.kept_epoch]
    return named[0] if named else max(run.dev, key=lambda point: point[1])


SECTION = Section("training", "Training", content)
