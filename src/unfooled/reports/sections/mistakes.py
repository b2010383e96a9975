"""Class by class: right without tampering and under the worst attack; confusion matrices.

The template reads the confusion matrices from the runs.
"""

from __future__ import annotations

from unfooled.files import JsonObject
from unfooled.records.evidence import Evidence, ModelEvidence
from unfooled.records.summaries.attack_summary import by_class
from unfooled.reports import tables
from unfooled.reports.formatting import percent
from unfooled.reports.section import Content, Section
from unfooled.reports.tables import Column, Table, TableCell
from unfooled.statistics.intervals import rate

SMALL = 30
"""Below so many inputs, a class is marked: its figures are rough."""
COLUMNS = (
    Column("Model", numeric=False),
    Column("True class", numeric=False),
    Column("Test inputs"),
    Column("Clean accuracy", meaning="of the test inputs of this class"),
    Column("Attacked inputs", meaning="inputs of this class in that attack; refused ones are left out"),
    Column("Before", meaning="right without an attack, of these"),
    Column("Under the worst attack", meaning="still right under the attack that is worst for the model"),
    Column("Re-verified", meaning="only successes that most fresh predictions confirm count"),
)


def content(data: Evidence) -> Content:
    models = [model for model in data.models if model.reads != "question"]  # its classes are right and wrong
    rows = [row for model in models for row in _rows(model)]
    if not rows:
        return None
    return {
        "tables": [Table("classes", _CAPTION, COLUMNS, rows).without_empty_columns()],
        "told": [told for model in models if (told := _told(model))],
        "confusion": any(run.confusion for run in data.runs),
        "classes": max((len(run.labels) for run in data.runs), default=0),
    }


_CAPTION = (
    "Inputs by their true class. Shares with 95 % intervals (Wilson). Classes with fewer than "
    f"{SMALL} inputs are marked: their figures are rough."
)


def _rows(model: ModelEvidence) -> list[list[TableCell]]:
    clean = _clean(model)
    worst, verified = model.worst(verified=False), model.worst(verified=True)
    under = by_class(worst.per_input) if worst else {}
    again = by_class(verified.per_input) if verified and verified.randomised else {}
    names = model.run.labels if model.run and model.run.labels else worst.labels if worst else ()
    silent = "of those with an answer" if model.run and model.run.abstained else ""
    rows = []
    for number, name in enumerate(names):
        own, fresh = under.get(number), again.get(number)
        tested = clean.get(number)
        if tested is None and own is None:
            continue
        rows.append(
            [
                tables.words(model.name),
                tables.words(name, _few(tested, own)),
                tables.whole(tested["n"] if tested else None),
                tables.share(tested, silent),
                tables.whole(own["sacc"]["n"] if own else None),
                tables.share(own["sacc"] if own else None),
                tables.share(own["racc"] if own else None, worst.name if worst else ""),
                tables.share(fresh["racc_verified"] if fresh else None, verified.name if verified else ""),
            ]
        )
    return rows


def _clean(model: ModelEvidence) -> dict[int, JsonObject]:
    """Right answers to the test inputs of each class."""
    confusion = model.run.confusion if model.run else ()
    return {number: rate(row[number], sum(row)) for number, row in enumerate(confusion)}


def _few(tested: JsonObject | None, attacked: dict[str, JsonObject] | None) -> str:
    small = [
        f"{count:,} {what}"
        for what, count in (
            ("tested", tested["n"] if tested else SMALL),
            ("attacked", attacked["sacc"]["n"] if attacked else SMALL),
        )
        if count < SMALL
    ]
    return f"few inputs: {', '.join(small)}" if small else ""


def _told(model: ModelEvidence) -> str:
    """The class that fares worst under attack, if that is more than chance."""
    worst = model.worst(verified=False)
    names = worst.labels if worst else ()
    known = {
        names[number]: own["racc"]
        for number, own in (by_class(worst.per_input) if worst else {}).items()
        if number < len(names) and own["racc"]["value"] is not None
    }
    if worst is None or len(known) < 2:
        return ""
    low = min(known, key=lambda name: known[name]["value"])
    high = max(known, key=lambda name: known[name]["value"])
    if known[low]["interval"][1] >= known[high]["interval"][0]:
        return ""
    return (
        f"{model.name} is weakest on {low}: {percent(known[low]['value'])} of its inputs stay right under "
        f"{worst.name}, against {percent(known[high]['value'])} of {high}."
    )


SECTION = Section("mistakes", "Class by class", content)
