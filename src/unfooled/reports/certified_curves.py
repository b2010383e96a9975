"""Certified accuracy over the radius as curves: one per model, or one per model over its seeds, as
``seed_curves`` joins them. Figures of a paper are single points.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from unfooled.files import JsonMapping
from unfooled.records.certificate import COUNTED
from unfooled.records.evidence import Certified, Evidence, ModelEvidence
from unfooled.reports import seed_curves
from unfooled.reports.certified import curve, grid, sign, truth_known
from unfooled.reports.charts import Axis, Lines, Series
from unfooled.reports.section import slots
from unfooled.reports.seed_curves import family_slots, mean_line, names, per_task

Found = Sequence[tuple[ModelEvidence, Certified]]


def curves(data: Evidence, threat: str, found: Found) -> list[Lines]:
    """The charts of a threat: one, or one per task of a benchmark with several seeds."""
    if not any(len(group) > 1 for group in over_seeds(data, found)):
        charts = [_chart(data, threat, found, _single(data, found), "")]
    else:
        charts = [_chart(data, threat, own, _over_seeds(data, own), where) for where, own in per_task(found)]
    return [chart for chart in charts if chart]


def over_seeds(data: Evidence, found: Found) -> list[list[tuple[ModelEvidence, Certified]]]:
    """What is certified alike, the seed aside, together."""
    return seed_curves.over_seeds(data, found, lambda one: one.name)


def _single(data: Evidence, found: Found) -> list[Series]:
    radii, series = grid([one for _, one in found]), []
    for model, one in found:
        rows = [row for row in curve(one, radii) if row["value"] is not None]
        if rows:
            points = [(row["radius"], row["value"]) for row in rows]
            band = [(row["interval"][0], row["interval"][1]) for row in rows]
            slot = slots(data)[model.name]
            series.append(Series(one.of(model.name), points, slot, band))
            series += _crosses(data, model, one, slot)
    return series


def _over_seeds(data: Evidence, found: Found) -> list[Series]:
    radii, series = grid([one for _, one in found]), []
    groups = over_seeds(data, found)
    named = names(groups, lambda who, one: one.of(who))
    for name, group in zip(named, groups, strict=True):
        each = [[row["value"] for row in curve(one, radii)] for _, one in group]
        each = [values for values in each if None not in values]
        if each:
            slot = family_slots(data)[group[0][0].name]
            series.append(mean_line(name, radii, each, slot))
            series += _crosses(data, *group[0], slot)
    return series


def _crosses(data: Evidence, model: ModelEvidence, found: Certified, slot: int) -> Iterable[Series]:
    for figure in _published(data, model, found):
        at, share = float(figure.get("radius") or 0.0), figure.get("certified", figure.get("sacc"))
        yield Series(f"published: {figure['model']}", [(at, float(share or 0) / 100)], slot, alone=True)


def _published(data: Evidence, model: ModelEvidence, found: Certified) -> Iterable[JsonMapping]:
    """Accuracies of a paper for this model: certified ones by the bound of the curve, and those without
    changes, at radius 0."""
    bound = next(iter(found.about.get("bounds", ())), None)
    for one in data.benchmarks:
        for figure in (one.published or {}).get("figures", ()):
            if (figure["task"], figure.get("defence")) != (model.task, model.defence):
                continue
            clean = figure.get("sacc") is not None and not figure.get("attack")
            own = figure.get("certificate") == Path(found.folder).name and figure.get("certified") is not None
            alike = own and figure.get("bound") in (None, bound)
            if clean if figure.get("certificate") is None else alike:
                yield figure


def _chart(data: Evidence, threat: str, found: Found, series: Sequence[Series], where: str) -> Lines | None:
    if not any(len(one.points) > 1 for one in series):
        return None
    counted = found[0][1].summary["unit"] in COUNTED
    known = truth_known([one for _, one in found])
    name = "Certified share" if known == "none" else "Certified accuracy"
    note = {
        "all": "Right and provably so at this radius or more.",
        "some": "Right, where the truth is known, and provably kept at this radius or more.",
        "none": "Provably kept at this radius or more; whether it is right is not known.",
    }[known]
    joined = any(len(group) > 1 for group in over_seeds(data, found))
    if joined:
        note += f" {seed_curves.NOTE}"
    if any(one.alone for one in series):
        note += " Crosses are published figures; those at radius 0 are accuracies without changes."
    return Lines(
        f"curve-{threat}{where.replace(', ', '-')}",
        f"{name}, {sign(threat)}{where}",
        series,
        over="radius",
        x=Axis(f"radius ({found[0][1].summary['unit']})", least=1 if counted else 0),
        y=Axis(name.lower(), percent=True, zero=True),
        steps=not counted,
        note=note,
        band=seed_curves.BAND if joined else "95 %",
    )
