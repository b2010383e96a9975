"""Attacks on images: accuracy against their size, as in Li et al. 2019, Figures 3 and 4; attacked images."""

from __future__ import annotations

from unfooled.records.evidence import Attack, Evidence, ModelEvidence
from unfooled.records.picture import Picture
from unfooled.reports.certified import SIGNS
from unfooled.reports.charts import Axis, Lines, Series
from unfooled.reports.png import png_text
from unfooled.reports.section import Content, Section, slots
from unfooled.reports.svg import SLOTS

MOST_PICTURES, MOST_ATTACKS = 4, 12


def content(data: Evidence) -> Content:
    found = [(model, one) for model in data.models for one in model.attacks if one.summary.get("curve")]
    norms = dict.fromkeys(str(one.summary["norm"]) for _, one in found)
    charts = [
        _curves(data, norm, [(model, one) for model, one in found if one.summary["norm"] == norm])
        for norm in norms
    ]
    charts = [chart for chart in charts if chart.series]
    shown = [(f"{model.name}, {one.name}", _pictures(one)) for model, one in found]
    shown = [(name, pictures) for name, pictures in shown if pictures]
    if not charts and not shown:
        return None
    return {
        "charts": charts,
        "randomised": any(one.randomised for _, one in found),
        "shown": shown[:MOST_ATTACKS],
    }


def _pictures(attack: Attack) -> list[Picture]:
    """Some successes of an attack: before, after, and what changed, grey where nothing did."""
    found = []
    for one in attack.outcomes:
        if not one.verified or one.image is None or not one.image.adversarial:
            continue
        before, after = one.image.pixels()
        change = after - before
        largest = max(float(abs(change).max()), 1e-6)
        panels = {"image": before, "attacked": after, "change, enlarged": 0.5 + 0.5 * change / largest}
        labels = [
            attack.labels[number] if number is not None and number < len(attack.labels) else str(number)
            for number in (one.first_label, one.label)
        ]
        far = f"{SIGNS.get(one.image.norm, one.image.norm)} distance {one.image.distance or 0.0:.3g}"
        found.append(
            Picture(
                f"Row {one.row}",
                f"{labels[0]} → {labels[1]}, {far}",
                tuple((name, png_text(values)) for name, values in panels.items()),
            )
        )
        if len(found) == MOST_PICTURES:
            break
    return found


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
