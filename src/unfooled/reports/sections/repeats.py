"""Repeated evaluation: accuracy over fresh noise (Moon et al. 2023, Figure 4) and over seeds (Table 5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from unfooled.records.evidence import Evidence, ModelEvidence, NamedResult
from unfooled.records.row_check import row_notes
from unfooled.reports import tables
from unfooled.reports.charts import Axis, Value, Values
from unfooled.reports.section import Content, Section, slots
from unfooled.reports.seeds import seed_families
from unfooled.reports.tables import Column, Table, TableCell
from unfooled.statistics.spread import spread

MOST_MARKS = 200


def content(data: Evidence) -> Content:
    repeated = [(model, one) for model in data.models for one in model.repeated]
    families = seed_families(data)
    if not repeated and not families:
        return None
    chart = _chart(data, repeated)
    found = [_repeats(repeated)] if repeated else []
    return {
        "tables": found + ([_seeds(families)] if families else []),
        "charts": [chart] if chart else [],
        "fixed": [one.of(model.name) for model, one in repeated if not one.found["random"]],
        "notes": [
            f"{one.of(model.name)}: {note}" for model, one in repeated for note in row_notes(one.found)
        ],
        "seeds": bool(families),
    }


def _repeats(repeated: Sequence[tuple[ModelEvidence, NamedResult]]) -> Table:
    columns = [
        Column("Model", numeric=False),
        Column("Inputs"),
        Column("Repeats"),
        Column("Mean accuracy"),
        Column("Std", meaning="standard deviation over the repeats"),
        Column("Least"),
        Column("Most"),
        Column("Answers that changed", meaning="inputs that did not get the same answer every time"),
        Column("Agreement", meaning="share of an input's most frequent answer, mean over the inputs"),
    ]
    rows = []
    for model, one in repeated:
        found = one.found
        accuracy = found["accuracy"]
        changed = {
            "value": found["changed_share"],
            "interval": found["changed_interval"],
            "n": found["inputs"],
        }
        unfinished = "" if found.get("complete", True) else "not finished"
        rows.append(
            [
                tables.words(one.of(model.name)),
                tables.whole(found["inputs"]),
                tables.whole(found["repeats"], unfinished),
                tables.plain_share(accuracy["mean"]),
                _points(accuracy["std"]),
                tables.plain_share(accuracy["min"]),
                tables.plain_share(accuracy["max"]),
                tables.share(changed),
                tables.plain_share(found["agreement"]),
            ]
        )
    caption = "The same inputs evaluated many times, each time under fresh noise and masks."
    return Table("repeats", caption, columns, rows)


def _points(value: float | None) -> TableCell:
    """A spread of shares, in percentage points."""
    return tables.NOTHING if value is None else TableCell(value, f"{value * 100:.2f} points")


def _seeds(families: dict[str, list[ModelEvidence]]) -> Table:
    columns = [
        Column("Runs", numeric=False),
        Column("Measure", numeric=False),
        Column("Seeds"),
        Column("Mean"),
        Column("Std", meaning="sample standard deviation over the seeds"),
        Column("Least"),
        Column("Most"),
    ]
    rows = []
    for name, group in families.items():
        attacks = list(dict.fromkeys(one.name for model in group for one in model.of_goal("fickle")))
        measures: list[tuple[str, Callable[[ModelEvidence], float | None]]] = [
            ("SAcc, whole test set", lambda model: model.run.accuracy if model.run else None)
        ]
        measures += [(f"RAcc, {attack}", _racc_of(attack)) for attack in attacks]
        for title, measure in measures:
            known = [value for model in group if (value := measure(model)) is not None]
            if len(known) < 2:
                continue
            found = spread(known)
            rows.append(
                [
                    tables.words(name),
                    tables.words(title),
                    tables.whole(found["n"]),
                    tables.plain_share(found["mean"]),
                    _points(found["std"]),
                    tables.plain_share(found["min"]),
                    tables.plain_share(found["max"]),
                ]
            )
    return Table("seeds", "Trained again with other seeds and nothing else changed.", columns, rows)


def _racc_of(attack: str) -> Callable[[ModelEvidence], float | None]:
    def measure(model: ModelEvidence) -> float | None:
        own = next((one for one in model.of_goal("fickle") if one.name == attack), None)
        return None if own is None else own.rate("racc")["value"]

    return measure


def _chart(data: Evidence, repeated: Sequence[tuple[ModelEvidence, NamedResult]]) -> Values | None:
    rows = []
    for model, one in repeated:
        found = one.found
        accuracy, marks = found["accuracy"], found["accuracies"][:MOST_MARKS]
        if found["random"] and len(marks) > 1:
            slot = slots(data)[model.name]
            rows.append(Value(one.of(model.name), accuracy["median"], slot=slot, marks=marks))
    if not rows:
        return None
    return Values(
        "repeats",
        "Accuracy over repeated evaluations",
        rows,
        Axis("accuracy", percent=True),
        note="Each tick is one evaluation of all inputs; the dot is their median.",
    )


SECTION = Section("repeats", "Repeated evaluation", content)
