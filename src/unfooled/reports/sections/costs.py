"""What answers cost: forward passes and seconds per 1,000, and the training before them."""

from __future__ import annotations

from unfooled.records.evidence import Evidence
from unfooled.records.input_kind import things
from unfooled.records.results.trained_run import Run
from unfooled.reports import tables
from unfooled.reports.section import Content, Section
from unfooled.reports.sentences import thousand_seconds
from unfooled.reports.tables import Column, Table, TableCell

COLUMNS = (
    Column("Model", numeric=False),
    Column("Predictor", numeric=False),
    Column("Forward passes per 1,000 answers"),
    Column("Times the cheapest", meaning="forward passes, against the model that needs the fewest"),
    Column("Time per 1,000 answers", meaning="seconds for the clean test inputs, in batches"),
    Column("Measured on", numeric=False),
    Column("Training", meaning="whatever the defence makes before it trains included"),
)


def content(data: Evidence) -> Content:
    runs = data.runs
    if not runs:
        return None
    fewest = min(run.forwards for run in runs)
    rows = [_row(run, fewest if len(runs) > 1 else 0.0) for run in runs]
    machines = {run.machine for run in runs if run.seconds}
    return {
        "tables": [Table("costs", _CAPTION, COLUMNS, rows).without_empty_columns()],
        "machines": len(machines) > 1,
    }


_CAPTION = (
    "Forward passes are the same on every machine; times are not, and a busy machine takes longer. Attacks "
    "and certificates have their own costs, in their tables."
)


def _row(run: Run, fewest: float) -> list[TableCell]:
    name = run.predictor.get("name") if isinstance(run.predictor, dict) else None
    taken = tables.NOTHING
    if run.seconds:
        seconds = 1000 * run.seconds / run.examples
        taken = TableCell(seconds, thousand_seconds(run), f"on {run.examples:,} inputs")
    return [
        tables.words(run.name, "; ".join(filter(None, (run.task, run.defence)))),
        tables.words(str(name)) if name else tables.NOTHING,
        tables.count(1000 * run.forwards),
        tables.count(run.forwards / fewest if fewest else None),
        taken,
        tables.words(run.machine) if run.machine and run.seconds else tables.NOTHING,
        tables.seconds(
            run.train_seconds,
            f"{run.train_examples:,} {things([run.reads])}"
            + ("; resumed, lost steps not counted" if run.resumed else ""),
        ),
    ]


SECTION = Section("costs", "What answers cost", content)
