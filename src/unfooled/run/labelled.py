"""Labelled inputs for a trained run: a split of its own task, of another one, or every row of a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from unfooled.errors import DataError, UsageError, UserError
from unfooled.run.config import TrainConfig, make_config, read_config

if TYPE_CHECKING:
    from unfooled.predict import Classifier


@dataclass(frozen=True)
class Inputs:
    """Labelled texts, and where they come from."""

    texts: list[str]
    pairs: list[str] | None
    labels: list[int]
    rows: list[int]
    source: str


def load_inputs(
    classifier: Classifier,
    run: Path,
    *,
    task: str | None = None,
    data: str | None = None,
    split: str = "test",
    limit: int | None = None,
    columns: Mapping[str, str | None],
    encoding: str = "utf-8",
) -> Inputs:
    """All rows of a file, or a split of a task: the run's own if none is named.

    ``columns`` are text_column, pair_column and label_column of ``data``; the first ``limit`` rows in
    stratified order are taken.
    """
    from unfooled.run.train import load_data

    if task and data:
        raise UsageError("Give --task or --data, not both.")
    if not data and any(columns.values()):
        raise UsageError("Columns are for --data; a task has its own. Leave them out, or name the file too.")
    if split not in ("test", "dev", "train"):
        raise UsageError(f"--split {split}: there are test, dev and train.")
    if data and not data.startswith("hub:"):
        return _file_inputs(classifier, data, limit, columns, encoding)
    config = _config(run, task, data, columns)
    # A prefix of a split is stratified, and of train only what the run saw counts as train.
    splits = load_data(replace(config, limit_dev=None, limit_test=None))
    if sorted(splits.task.labels) != sorted(classifier.labels):
        raise UserError(
            f"{splits.task.name} has the labels {', '.join(splits.task.labels)}, but the run answers "
            f"{', '.join(classifier.labels)}. Choose a task with the same labels."
        )
    if classifier.task and (splits.task.kind == "pair") != classifier.takes_pairs:
        raise UserError(f"{splits.task.name} and the run differ in kind: one takes two texts, the other one.")
    table = getattr(splits, split)[:limit]
    return Inputs(
        texts=table["text"],
        pairs=table.get("text_pair"),
        labels=[classifier.labels.index(splits.task.labels[label]) for label in table["label"]],
        rows=table["row"],
        source=f"{splits.task.name} ({split})",
    )


def _config(run: Path, task: str | None, data: str | None, columns: Mapping[str, str | None]) -> TrainConfig:
    saved = run / "config.yaml"
    if not (task or data):
        if not saved.is_file():
            raise UsageError(f"{run} does not say what it was trained on. Give --task NAME or --data FILE.")
        return make_config(read_config(saved))
    seed = read_config(saved).get("seed", 0) if saved.is_file() else 0
    return make_config({"task": task, "data": data, "seed": seed, **(columns if data else {})})


def _file_inputs(
    classifier: Classifier, path: str, limit: int | None, columns: Mapping[str, str | None], encoding: str
) -> Inputs:
    from unfooled.data.cells import texts_of
    from unfooled.data.columns import choose_columns
    from unfooled.data.labels import LabelSet, label_ids
    from unfooled.data.split import TEST_KEY, stratified_order
    from unfooled.data.tables import read_table

    table = read_table(path, encoding=encoding)
    names = {name.removesuffix("_column"): value for name, value in columns.items()}
    chosen = choose_columns(table, **names)
    if classifier.takes_pairs != (chosen.pair is not None):
        wanted = (
            "two texts: name both with --text-column and --pair-column"
            if classifier.takes_pairs
            else ("one text: name its column with --text-column")
        )
        raise UsageError(f"{path}: the run takes {wanted}.")
    by_name = {label: index for index, label in enumerate(classifier.labels)}
    try:
        labels = label_ids(table, chosen.label, LabelSet(classifier.labels, by_name))
    except DataError:
        by_id = {str(index): index for index in range(len(classifier.labels))}
        if not {str(record.get(chosen.label)).strip() for _, record in table.rows} <= set(by_id):
            raise
        labels = label_ids(table, chosen.label, LabelSet(classifier.labels, by_id))
    texts = [texts_of(table, column) for column in chosen.texts]
    order = stratified_order(labels, TEST_KEY)[:limit]
    return Inputs(
        texts=[texts[0][i] for i in order],
        pairs=[texts[1][i] for i in order] if chosen.pair else None,
        labels=[labels[i] for i in order],
        rows=[table.rows[i][0] for i in order],
        source=path,
    )
