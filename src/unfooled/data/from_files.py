"""A task from the user's own files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from unfooled.data.own import from_tables
from unfooled.data.split import TaskData
from unfooled.data.tables import read_table
from unfooled.data.tables.data_table import DataTable


def load_files(
    train: str | Path,
    *,
    dev: str | Path | None = None,
    test: str | Path | None = None,
    text_column: str | None = None,
    pair_column: str | None = None,
    label_column: str | None = None,
    labels: Sequence[str] | None = None,
    name: str | None = None,
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
        name=name or Path(train).name.split(".")[0],
        description=f"Rows of {Path(train).name}",
        seed=seed,
        limit=limit,
        limit_dev=limit_dev,
        limit_test=limit_test,
    )
