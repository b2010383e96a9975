"""Tables of the user's to splits and a task, whatever they were read from."""

from __future__ import annotations

from collections.abc import Sequence

from unfooled.data.cell_values import texts_of
from unfooled.data.columns import Columns, choose_columns, require_columns
from unfooled.data.labels import LabelSet, fit_labels, label_ids
from unfooled.data.rows import Rows, Splits
from unfooled.data.split import TaskData, assemble
from unfooled.data.tables.data_table import DataTable
from unfooled.data.task import Task

TOKENS_PER_WORD = 1.4
LENGTHS = (32, 64, 128, 256)


def from_tables(
    train: DataTable,
    *,
    dev: DataTable | None,
    test: DataTable | None,
    text_column: str | None,
    pair_column: str | None,
    label_column: str | None,
    labels: Sequence[str] | None,
    name: str,
    description: str,
    seed: int,
    limit: int | None,
    limit_dev: int | None,
    limit_test: int | None,
) -> TaskData:
    columns = choose_columns(train, text=text_column, pair=pair_column, label=label_column)
    label_set = fit_labels(train, columns.label, names=labels)
    splits = Splits(_rows(train, columns, label_set))
    if dev is not None:
        splits.dev = _rows(dev, columns, label_set)
    if test is not None:
        splits.test = _rows(test, columns, label_set)
    lengths = _word_counts(splits.train)
    task = Task(
        name=name,
        description=description,
        kind="single" if columns.pair is None else "pair",
        labels=label_set.names,
        max_length=recommended_length(lengths),
    )
    limits = {"limit": limit, "limit_dev": limit_dev, "limit_test": limit_test}
    return assemble(task, splits, seed=seed, source=train.name, **limits)


def recommended_length(word_counts: Sequence[int]) -> int:
    """The smallest usual length that holds 95 % of the inputs."""
    long_input = sorted(word_counts)[int(0.95 * (len(word_counts) - 1))] * TOKENS_PER_WORD + 3
    return next((length for length in LENGTHS if long_input <= length), LENGTHS[-1])


def _rows(table: DataTable, columns: Columns, labels: LabelSet) -> Rows:
    require_columns(table, columns)
    texts = [texts_of(table, column) for column in columns.texts]
    return Rows(
        text=texts[0],
        label=label_ids(table, columns.label, labels),
        row=[place for place, _ in table.rows],
        text_pair=texts[1] if columns.pair else None,
    )


def _word_counts(rows: Rows) -> list[int]:
    counts = [len(text.split()) for text in rows.text]
    if rows.text_pair is None:
        return counts
    return [n + len(text.split()) for n, text in zip(counts, rows.text_pair, strict=True)]
