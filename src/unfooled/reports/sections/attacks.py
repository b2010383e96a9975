"""Attacks that try to change the answer, as in Moon et al. 2023, Tables 1 and 7, beside published figures."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from unfooled.files import JsonMapping
from unfooled.records.evidence import Attack, Evidence, ModelEvidence
from unfooled.records.row_check import row_notes
from unfooled.records.summaries.attack_summary import cut_short, untried
from unfooled.reports import tables
from unfooled.reports.charts import Axis, Value, Values
from unfooled.reports.comparison import gains
from unfooled.reports.formatting import percent
from unfooled.reports.section import Content, Section, slots
from unfooled.reports.tables import Column, Table, TableCell

COLUMNS = (
    Column("Model", numeric=False),
    Column("Attack", numeric=False),
    Column("Inputs"),
    Column("SAcc", meaning="right without an attack"),
    Column("RAcc", meaning="still right after the attack"),
    Column("ASR", meaning="answer changed, of those attacked"),
    Column("RAcc re-verified", meaning="only successes that most fresh predictions confirm count"),
    Column("ASR re-verified", meaning="successes that most fresh predictions confirm"),
    Column(
        "F1 under attack", meaning="of answers; a failed attack leaves the answer, or counts its worst copy"
    ),
    Column("Queries", meaning="mean over the attacked inputs (AvgQ)"),
    Column("Forwards", meaning="forward passes of the victim, mean over the attacked inputs"),
    Column("Words changed", meaning="mean over the successes"),
    Column("Similarity", meaning="of the changed to the original text, mean over the successes"),
    Column("Seconds per input"),
)
FIGURES = (("sacc", "SAcc"), ("racc", "RAcc"), ("asr", "ASR"), ("avgq", "AvgQ"))


def content(data: Evidence) -> Content:
    found = [(model, one) for model in data.models for one in model.attacks if one.goal == "fickle"]
    published = [
        _beside(data, one.published)
        for one in data.benchmarks
        if one.published and any(figure.get("attack") for figure in one.published.get("figures", ()))
    ]
    if not found and not published:
        return None
    chart = _chart(data, found)
    own = [attack_table("attacks", data, found), *gain_tables("gains", data, "fickle")] if found else []
    return {
        "tables": [*own, *published],
        "charts": [chart] if chart else [],
        "randomised": any(one.randomised for _, one in found),
        "notes": notes(found),
    }


def attack_table(
    name: str, data: Evidence, found: Sequence[tuple[ModelEvidence, Attack]], *, first: str = ""
) -> Table:
    """One row per attack; ``first`` opens the caption."""
    rows: list[list[TableCell]] = []
    for model in data.models:
        own = [one for other, one in found if other is model]
        rows += [_row(model, one) for one in own]
        if len(own) > 1 and all(one.goal == "fickle" for one in own):
            rows.append(_average(model, own))
    caption = (
        "Shares with 95 % intervals (Wilson), means with 95 % intervals (Student's t). Inputs that could not "
        "be attacked or were refused are left out of RAcc and ASR."
    )
    return Table(name, first + caption, COLUMNS, rows).without_empty_columns()


def gain_tables(name: str, data: Evidence, goal: str) -> list[Table]:
    """What each model gains over the plain one on the same inputs; none where nothing is comparable."""
    rows = [
        [
            tables.words(one.model.name),
            tables.words(one.over.name),
            tables.words(one.attack.name),
            tables.whole(one.gain.n),
            tables.points(one.gain),
            tables.points(one.verified),
        ]
        for one in gains(data, goal)
    ]
    columns = (
        Column("Model", numeric=False),
        Column("Over", numeric=False, meaning="the plain model of the same task and seed, or the first"),
        Column("Attack", numeric=False),
        Column("Inputs", meaning="that both models met"),
        Column("RAcc gained", meaning="percentage points, input by input"),
        Column("RAcc gained, re-verified"),
    )
    caption = (
        "The same attack on the same inputs, compared input by input, with 95 % intervals (Newcombe). Models "
        "err on much the same inputs, so a gain may be more than chance where two intervals overlap."
    )
    return [Table(name, caption, columns, rows).without_empty_columns()] if rows else []


def notes(found: Sequence[tuple[ModelEvidence, Attack]]) -> list[str]:
    """What must be known before the numbers are used."""
    rules = dict.fromkeys(str(one.summary["right"]) for _, one in found if "right" in one.summary)
    said = [f"Right answers to questions: {', or '.join(rules)}."] if rules else []
    for model, one in found:
        who = f"{model.name}, {one.name}"
        if one.other_predictor:
            said.append(f"{who}: attacked with another predictor than the run's own ({one.other_predictor}).")
        if not one.about.get("complete", True):
            said.append(f"{who}: the attack is not finished; these are the inputs done so far.")
        if why := cut_short(one.summary):
            said.append(f"{who}: {why}; a longer one may succeed.")
        if why := untried(one.summary):
            said.append(f"{who}: {why}.")
        said += [f"{who}: {note}" for note in row_notes(one.about)]
    return said


def _row(model: ModelEvidence, one: Attack) -> list[TableCell]:
    summary = one.summary
    counts = summary["counts"]
    left_out = {name: counts[name] for name in ("not-attackable", "refused", "error") if counts[name]}
    note = ", ".join(f"{number:,} {name}" for name, number in left_out.items())
    return [
        tables.words(model.name),
        tables.words(one.name),
        tables.whole(summary["examples"], note),
        *(tables.share(summary[name]) for name in ("sacc", "racc", "asr")),
        *(tables.share(summary.get(name)) for name in ("racc_verified", "asr_verified")),
        _f1(summary),
        *(tables.mean(summary[name]) for name in ("queries", "forwards", "changed_words")),
        *(tables.count(summary[name]["value"]) for name in ("similarity", "seconds")),
    ]


def _f1(summary: JsonMapping) -> TableCell:
    """Of an attack on questions: F1 under it, and before."""
    before = summary.get("f1_before", {}).get("value")
    return tables.share(summary.get("f1_after"), "" if before is None else f"{percent(before)} before")


def _average(model: ModelEvidence, own: Sequence[Attack]) -> list[TableCell]:
    """The mean over the attacks, as the last row of a model in the paper's tables."""

    def over(name: str) -> float | None:
        known = [one.summary[name]["value"] for one in own if one.summary.get(name)]
        known = [value for value in known if value is not None]
        return statistics.fmean(known) if len(known) == len(own) else None

    return [
        tables.words(model.name),
        tables.words(f"mean of {len(own)}"),
        tables.NOTHING,
        *(tables.plain_share(over(n)) for n in ("sacc", "racc", "asr", "racc_verified", "asr_verified")),
        tables.plain_share(over("f1_after")),
        *(tables.count(over(n)) for n in ("queries", "forwards", "changed_words", "similarity", "seconds")),
    ]


def _beside(data: Evidence, published: JsonMapping) -> Table:
    """Published figures, each beside ours for the same task, defence and attack where there is one."""
    source = str(published.get("source", "published"))
    columns = [
        Column(title, numeric=False) for title in ("Task", "Their model", "Defence", "Attack", "Our model")
    ]
    for _, title in FIGURES:
        columns += [Column(f"{title} theirs", meaning=source), Column(f"{title} ours")]
    rows = []
    for figure in published.get("figures", ()):
        if not figure.get("attack"):
            continue  # beside the certificates
        model, own = _counterpart(data, figure)
        row = [
            tables.words(str(figure.get(key) or tables.ABSENT))
            for key in ("task", "model", "defence", "attack")
        ]
        row.append(tables.words(model.name) if model else tables.NOTHING)
        for key, _ in FIGURES:
            theirs = figure.get(key)
            if key == "avgq":
                row.append(tables.count(None if theirs is None else float(theirs)))
                row.append(tables.mean(own.summary["queries"]) if own else tables.NOTHING)
            else:
                row.append(tables.plain_share(None if theirs is None else float(theirs) / 100))
                row.append(tables.share(own.summary[key]) if own else tables.NOTHING)
        rows.append(row)
    note = str(published.get("note") or "")
    caption = f"Theirs: {source}, as published{f' ({note})' if note else ''}. Ours: this report."
    caption += " Other encoders, data or numbers of inputs give other figures; compare with care."
    return Table("published", caption, columns, rows)


def _counterpart(data: Evidence, figure: JsonMapping) -> tuple[ModelEvidence | None, Attack | None]:
    for model in data.models:
        if (model.task, model.defence) == (figure.get("task"), figure.get("defence")):
            for one in model.attacks:
                if one.name == figure.get("attack"):
                    return model, one
    return None, None


def _chart(data: Evidence, found: Sequence[tuple[ModelEvidence, Attack]]) -> Values | None:
    rows = []
    for model, one in sorted(found, key=lambda pair: pair[1].name):
        kinds = [(False, ""), (True, " re-verified")] if one.randomised else [(False, "")]
        for verified, words in kinds:
            racc = one.rate("racc", verified=verified)
            if racc["value"] is not None:
                label = f"{one.name}{words} · {model.name}"
                low, high = racc["interval"]
                rows.append(Value(label, racc["value"], low, high, slots(data)[model.name]))
    if len(rows) < 2:
        return None
    return Values(
        "racc",
        "Right answers under each attack",
        rows,
        Axis("RAcc", percent=True),
        note="With 95 % intervals.",
    )


SECTION = Section("attacks", "Under attack", content)
