"""The verdict: one row per model, the sentences that sum it up, and robustness against cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from unfooled.records.evidence import Attack, Evidence, ModelEvidence
from unfooled.reports import tables
from unfooled.reports.certified import (
    RIGHT,
    at_least,
    certified_at,
    other_predictor,
    sign,
    threats,
    truth_known,
    useful_radius,
)
from unfooled.reports.charts import Axis, Point, Scatter
from unfooled.reports.comparison import one_ranking
from unfooled.reports.section import Content, Section, slots
from unfooled.reports.sentences import costs, rankings, spoken, under_attack, untested
from unfooled.reports.svg import accuracy_bar
from unfooled.reports.tables import Column, Table, TableCell


def content(data: Evidence) -> Content:
    if not data.models:
        return None
    runs = data.runs
    best = max(runs, key=lambda run: run.accuracy) if runs else None
    return {
        "best": best,
        "comparable": len({(run.task, run.examples) for run in runs}) == 1,
        "no_better": [run for run in runs if run.majority is not None and run.low <= run.majority],
        "overlapping": [run for run in runs if best and run is not best and run.high >= best.low],
        "rankings": rankings(data),
        "under_attack": under_attack(data),
        "spoken": spoken(data),
        "costs": costs(data),
        "untested": untested(data),
        "tables": [verdict_table(data)],
        "charts": [chart] if (chart := _cost_chart(data)) else [],
        "not_its_own": [f"{model.name}: {why}" for model in data.models for why in model.not_its_own],
        "majority": any(run.majority is not None for run in runs),
    }


def verdict_table(data: Evidence) -> Table:
    """Clean, under the worst attack, certified, obstinate, cost."""
    found = threats(data)
    radii = {threat: useful_radius(data, threat) for threat in found}
    columns = [
        Column("Model", numeric=False),
        Column("Clean accuracy"),
        Column("Worst attack", numeric=False, meaning="the attack that leaves the fewest right answers"),
        Column("Right under it", meaning="answers still right under that attack, as attacked"),
        Column(
            "Re-verified",
            meaning="only successes that most fresh predictions confirm count; by its own worst attack",
        ),
    ]
    for threat in found:
        every = [one for model in data.models for one in model.certified if one.threat == threat]
        right = RIGHT[truth_known(every)]
        columns.append(Column(f"Certified {sign(threat)}", meaning=f"{right}, at radius 0"))
        if (radius := radii[threat]) is not None:
            unit = {"words": "words", "synonyms": "words", "edits": "edits"}.get(threat, "")
            limit = at_least(radius, unit)
            columns.append(Column(f"Certified {sign(threat)} {limit}", meaning=right))
    columns += [
        Column(
            "Obstinate", meaning="answer unchanged although the meaning changed, by the worst such attack"
        ),
        Column("Certified obstinate", meaning="certified texts that provably ignore an antonym"),
        Column("Forward passes per answer"),
    ]
    rows = [_row(model, data, found, radii) for model in data.models]
    return Table("verdict", _caption(data), columns, rows).without_empty_columns()


def _row(
    model: ModelEvidence, data: Evidence, found: Sequence[str], radii: dict[str, float | None]
) -> list[TableCell]:
    run = model.run
    worst, verified = model.worst(verified=False), model.worst(verified=True)
    obstinate = model.most_obstinate(verified=False)
    cells = [
        tables.words(model.name, "; ".join(filter(None, (model.task, model.defence)))),
        _clean(model, slots(data)[model.name]),
        tables.words(worst.name, _on(worst)) if worst else tables.NOTHING,
        tables.share(worst.rate("racc")) if worst else tables.NOTHING,
        tables.share(verified.rate("racc", verified=True), f"by {verified.name}")
        if verified and verified.randomised
        else tables.NOTHING,
    ]
    for threat in found:
        own = model.certified_for(threat)
        told = "" if own is None or own.summary["labelled"] else "truth unknown: share certified"
        if own is not None and (other := other_predictor(model, own)):
            told = "; ".join(filter(None, (told, f"another predictor: {other}")))
        if own is not None and own.name:
            told = "; ".join(filter(None, (told, own.name)))
        cells.append(tables.share(certified_at(own, 0.0), told) if own else tables.NOTHING)
        if (radius := radii[threat]) is not None:
            cells.append(tables.share(certified_at(own, radius), told) if own else tables.NOTHING)
    certain = [one.summary["obstinacy"]["texts"] for one in model.certified if "obstinacy" in one.summary]
    cells += [
        tables.share(obstinate.rate("asr"), f"by {obstinate.name}") if obstinate else tables.NOTHING,
        tables.share(max(certain, key=lambda one: one["value"] or 0.0)) if certain else tables.NOTHING,
        tables.count(run.forwards) if run else tables.NOTHING,
    ]
    return cells


def _clean(model: ModelEvidence, slot: int) -> TableCell:
    run = model.run
    if run is None:
        first = next(iter(model.attacks), None)
        return tables.share(first.summary["sacc"], "on the attacked inputs") if first else tables.NOTHING
    silent = f"no answer to {run.abstained:,} of {run.examples:,}" if run.abstained else ""
    found = {"value": run.accuracy, "interval": (run.low, run.high), "n": run.examples}
    bar = accuracy_bar(run.accuracy, run.low, run.high, reference=run.majority, slot=slot)
    return replace(tables.share(found, silent), figure=bar)


def _on(attack: Attack) -> str:
    return f"{attack.summary['examples']:,} inputs"


def _caption(data: Evidence) -> str:
    parts = ["Every share with its 95 % interval (Wilson). Bars run from 0 to 100 %"]
    if any(run.majority is not None for run in data.runs):
        parts[0] += "; the dashed tick is what always giving the most frequent class would reach"
    if data.attacked:
        parts.append(
            f"Clean accuracy is on all test {data.things}; accuracy under attack is on the inputs that were "
            "attacked"
        )
    return ". ".join(parts) + "."


def _cost_chart(data: Evidence) -> Scatter | None:
    points = []
    for model in data.models:
        worst = model.worst(verified=False)
        if model.run and worst:
            racc = worst.rate("racc")
            slot = slots(data)[model.name]
            points.append(
                Point(model.name, model.run.forwards, racc["value"], slot, up=tuple(racc["interval"]))
            )
    if len(points) < 2:
        return None
    return Scatter(
        "cost",
        "Robustness against cost",
        points,
        x=Axis("forward passes per answer", log=True),
        y=Axis("right under the worst attack", percent=True),
        note="Higher is more robust, further left is cheaper. As attacked, with 95 % intervals."
        + ("" if one_ranking(data) else " Not all met the same attacks on the same inputs: no ranking."),
    )


SECTION = Section("verdict", "Verdict", content)
