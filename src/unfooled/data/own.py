"""A task from the user's own files, or from any tables with texts and labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from unfooled.data.cell_values import texts_of
from unfooled.data.columns import Columns, choose_columns, require_columns
from unfooled.data.labels import LabelSet, fit_labels, label_ids
from unfooled.data.rows import Rows, Splits
from unfooled.data.split import TaskData, assemble
from unfooled.data.tables import read_table
from unfooled.data.tables.data_table import DataTable
from unfooled.data.task import Task

TOKENS_PER_WORD = 1.4
LENGTHS = (32, 64, 128, 256)


def load_files(
    train: str | Path,
    *,
    dev: str | Path | None = None,
    test: str | Path | None = None,
    text_column: str | None = None,
    pair_column: str | None = None,
    label_column: str | None = None,
    labels: Sequence[str] | None = None,
    seed: int = 0,
    limit: int | None = None,
    limit_dev: int | None = None,
    limit_test: int | None = None,
    encoding: str = "utf-8",
) -> TaskData:
    """The splits of CSV, TSV, JSON lines, JSON or Parquet files.

    Columns that are not named are guessed from usual names. A test file that is not given
    is held out of train (one row in eight, always the same), a dev file likewise (one in
    ten, by ``seed``). ``labels`` names the ids 0…k−1 or fixes the order of string labels.
    Text is used as it stands in the file.
    """

    def table(path: str | Path | None) -> DataTable | None:
        return None if path is None else read_table(path, encoding=encoding)

    return from_tables(
        read_table(train, encoding=encoding),
        dev=table(dev),
        test=table(test),
        text_column=text_column,
        pair_column=pair_column,
        label_column=label_column,
        labels=labels,
        name=Path(train).name.split(".")[0],
        description=f"Rows of {Path(train).name}",
        seed=seed,
        limit=limit,
        limit_dev=limit_dev,
        limit_test=limit_test,
    )


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
    """Splits and a task of tables that were read, whatever from."""
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
