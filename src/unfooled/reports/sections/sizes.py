"""Accuracy against the size of an attack on images, as in Li et al. 2019, Figures 3 and 4."""

from __future__ import annotations

from unfooled.records.evidence import Attack, Evidence, ModelEvidence
from unfooled.reports.certified import SIGNS
from unfooled.reports.charts import Axis, Lines, Series
from unfooled.reports.section import Content, Section, slots
from unfooled.reports.svg import SLOTS


def content(data: Evidence) -> Content:
    found = [(model, one) for model in data.models for one in model.attacks if one.summary.get("curve")]
    norms = dict.fromkeys(str(one.summary["norm"]) for _, one in found)
    charts = [
        _curves(data, norm, [(model, one) for model, one in found if one.summary["norm"] == norm])
        for norm in norms
    ]
    charts = [chart for chart in charts if chart.series]
    if not charts:
        return None
    return {"charts": charts, "randomised": any(one.randomised for _, one in found)}


def _curves(data: Evidence, norm: str, found: list[tuple[ModelEvidence, Attack]]) -> Lines:
    """One line per model and attack that tried several sizes, from the accuracy without an attack."""
    one_attack = len({one.name for _, one in found}) == 1
    colours = slots(data) if one_attack else {}
    series = []
    for number, (model, one) in enumerate(found):
        key = "racc_verified" if one.randomised else "racc"
        rates = [(0.0, one.summary["sacc"]), *((point["size"], point[key]) for point in one.summary["curve"])]
        known = [(size, rate) for size, rate in rates if rate["value"] is not None]
        if len(known) > 2:
            points = [(float(size), float(rate["value"])) for size, rate in known]
            band = [(rate["interval"][0], rate["interval"][1]) for _, rate in known]
            name = model.name if one_attack else f"{model.name}, {one.name}"
            slot = colours.get(model.name, number % SLOTS + 1)
            series.append(Series(name, points, slot, band))
    return Lines(
        f"sizes-{norm}",
        f"Accuracy against the size of the attack, {SIGNS.get(norm, norm)}",
        series,
        over="size",
        x=Axis(f"size of the attack, {SIGNS.get(norm, norm)} (pixels from 0 to 1)"),
        y=Axis("accuracy under attack", percent=True, zero=True),
        note="With 95 % intervals. A success at a smaller size counts at larger ones.",
    )


SECTION = Section("sizes", "Against the size of the attack", content)
