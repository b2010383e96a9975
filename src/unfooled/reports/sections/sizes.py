"""Attacks on images: accuracy against their size, as in Li et al. 2019, Figures 3 and 4."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from unfooled.files import JsonMapping
from unfooled.records.evidence import Attack, Evidence
from unfooled.reports import seed_curves
from unfooled.reports.certified import SIGNS
from unfooled.reports.charts import Axis, Lines, Series
from unfooled.reports.section import Content, Section, slots
from unfooled.reports.seed_curves import OfModels, family_slots, mean_line, names, over_seeds, per_task
from unfooled.reports.svg import SLOTS


def content(data: Evidence) -> Content:
    every = [(model, one) for model in data.models for one in model.attacks if one.summary.get("curve")]
    found = [(model, one) for model, one in every if len(_rates(one, "racc")) > 2]
    if not found:
        return None
    norms = dict.fromkeys(str(one.summary["norm"]) for _, one in found)
    charts = []
    for norm in norms:
        own = [(model, one) for model, one in found if one.summary["norm"] == norm]
        joined = any(len(group) > 1 for group in over_seeds(data, own, _alike))
        charts += [_chart(data, norm, *part) for part in (per_task(own) if joined else [("", own)])]
    return {"charts": charts, "randomised": any(one.randomised for _, one in found)}


def _rates(attack: Attack, key: str) -> list[tuple[float, JsonMapping]]:
    """Accuracy at each size where it is known, from that without an attack."""
    sizes = [(float(point["size"]), point[key]) for point in attack.summary["curve"]]
    every = [(0.0, attack.summary["sacc"]), *sizes]
    return [(size, rate) for size, rate in every if rate["value"] is not None]


def _alike(attack: Attack) -> object:
    """What attacks on several seeds must share to be one line. Not the source of a transfer attack: a plan
    takes the one of the same seed."""
    settings = attack.about["recipe"].get("settings") or {}
    told = tuple(sorted((key, repr(value)) for key, value in settings.items() if key != "source"))
    sizes = tuple(size for size, _ in _rates(attack, "racc"))
    return attack.name, attack.randomised, attack.other_predictor, sizes, told


def _chart(data: Evidence, norm: str, where: str, found: OfModels[Attack]) -> Lines:
    """One model per line, or all seeds of one."""
    groups = over_seeds(data, found, _alike)
    joined = any(len(group) > 1 for group in groups)
    one_attack = len({one.name for _, one in found}) == 1

    def named(who: str, one: Attack) -> str:
        return who if one_attack else f"{who}, {one.name}"

    each = names(groups, named) if joined else [named(model.name, one) for model, one in found]
    colours = (family_slots(data) if joined else slots(data)) if one_attack else {}
    series: list[Series] = []
    for number, (name, group) in enumerate(zip(each, groups, strict=True)):
        slot = colours.get(group[0][0].name, number % SLOTS + 1)
        series += _lines(name, [one for _, one in group], slot, joined=joined)
    notes = [
        seed_curves.NOTE if joined else "With 95 % intervals.",
        "A success at a smaller size counts at larger ones.",
        *(["Open circles: as attacked."] if any(one.hollow for one in series) else []),
    ]
    sign = SIGNS.get(norm, norm)
    return Lines(
        f"sizes-{norm}{where.replace(', ', '-')}",
        f"Accuracy against the size of the attack, {sign}{where}",
        series,
        over="size",
        x=Axis(f"size of the attack, {sign} (pixels from 0 to 1)"),
        y=Axis("accuracy under attack", percent=True, zero=True),
        note=" ".join(notes),
        band=seed_curves.BAND if joined else "95 %",
    )


def _lines(name: str, attacks: list[Attack], slot: int, *, joined: bool) -> Iterator[Series]:
    """The line of a model, or two if it draws noise: as attacked, and re-verified."""
    kinds = [("racc", "", False)]
    if attacks[0].randomised:
        kinds = [("racc", ", as attacked", True), ("racc_verified", ", re-verified", False)]
    for key, told, hollow in kinds:
        sizes = [size for size, _ in _rates(attacks[0], key)]
        rates = [[rate for _, rate in _rates(one, key)] for one in attacks]
        values = [[float(rate["value"]) for rate in own] for own in rates]
        line = mean_line(name + told, sizes, values, slot, hollow=hollow)
        if not joined:
            line = replace(line, band=[(rate["interval"][0], rate["interval"][1]) for rate in rates[0]])
        yield line


SECTION = Section("sizes", "Against the size of the attack", content)
