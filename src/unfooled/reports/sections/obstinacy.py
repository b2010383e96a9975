"""Fickle against obstinate: who changes its answer for nothing, and who keeps it against the meaning.

A defence that only stops listening looks robust; one point per model, as in Chen et al. 2022 (BAT), Figure 3.
"""

from __future__ import annotations

from unfooled.records.evidence import Evidence
from unfooled.reports import tables
from unfooled.reports.charts import Axis, Point, Scatter
from unfooled.reports.section import Content, Section, slots
from unfooled.reports.sections.attacks import attack_table, gain_tables, notes
from unfooled.reports.tables import Column, Table

CHANGED = (
    "Attacks that change the meaning: a success is an answer that stayed; RAcc counts answers that were "
    "right and reacted. "
)


def content(data: Evidence) -> Content:
    found = [(model, one) for model in data.models for one in model.attacks if one.goal == "obstinate"]
    certain = any("obstinacy" in one.summary for model in data.models for one in model.certified)
    if not found and not certain:
        return None
    chart = _chart(data)
    attacked = [attack_table("obstinate", data, found, first=CHANGED)] if found else []
    return {
        "tables": [_table(data), *attacked, *gain_tables("obstinate-gains", data, "obstinate")],
        "charts": [chart] if chart else [],
        "notes": notes(found),
        "attacked": bool(found),
        "certain": certain,
    }


def _table(data: Evidence) -> Table:
    columns = [
        Column("Model", numeric=False),
        Column("Fickle ASR", meaning="answer changed although the meaning stayed, worst attack"),
        Column("Obstinate ASR", meaning="answer stayed although the meaning changed, worst attack"),
        Column("Certified obstinate", meaning="certified texts that provably ignore an antonym"),
        Column("Antonyms inside", meaning="single antonyms inside a certificate, of all considered"),
    ]
    rows = []
    for model in data.models:
        fickle = max(model.of_goal("fickle"), key=lambda one: one.rate("asr")["value"], default=None)
        obstinate = model.most_obstinate(verified=False)
        certain = [one.summary["obstinacy"] for one in model.certified if "obstinacy" in one.summary]
        most = max(certain, key=lambda one: one["texts"]["value"] or 0.0, default=None)
        rows.append(
            [
                tables.words(model.name),
                tables.share(fickle.rate("asr"), fickle.name) if fickle else tables.NOTHING,
                tables.share(obstinate.rate("asr"), obstinate.name) if obstinate else tables.NOTHING,
                tables.share(most["texts"]) if most else tables.NOTHING,
                tables.whole(most["antonyms_inside"], f"of {most['antonyms_considered']:,}")
                if most
                else tables.NOTHING,
            ]
        )
    caption = "Both rates are better the lower they are. As attacked, with 95 % intervals (Wilson)."
    return Table("obstinacy", caption, columns, rows).without_empty_columns()


def _chart(data: Evidence) -> Scatter | None:
    points = []
    for model in data.models:
        fickle = max(model.of_goal("fickle"), key=lambda one: one.rate("asr")["value"], default=None)
        obstinate = model.most_obstinate(verified=False)
        if fickle and obstinate:
            x, y = fickle.rate("asr"), obstinate.rate("asr")
            slot = slots(data)[model.name]
            points.append(
                Point(model.name, x["value"], y["value"], slot, tuple(x["interval"]), tuple(y["interval"]))
            )
    if not points:
        return None
    return Scatter(
        "fickle-obstinate",
        "Fickle against obstinate",
        points,
        x=Axis("fickle ASR (meaning kept)", percent=True),
        y=Axis("obstinate ASR (meaning changed)", percent=True),
        note="Towards the lower left is better on both. With 95 % intervals.",
    )


SECTION = Section("obstinacy", "Fickle or obstinate", content)
