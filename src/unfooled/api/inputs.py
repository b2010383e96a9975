"""Labelled inputs for what is evaluated: a split of its own task, of another one, or every row of a file.

A file is read strictly (its first bad row is an error) or leniently: then bad rows are set aside with the
reason, and the others are used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from unfooled.errors import DataError, UsageError, UserError
from unfooled.storage.config import TrainConfig, make_config, read_config
from unfooled.storage.files import writable

if TYPE_CHECKING:
    from unfooled.data.columns import Columns
    from unfooled.data.labels import LabelSet
    from unfooled.data.tables.table import Table

_NUMBERED = re.compile(r"(?:LABEL_)?(\d{1,4})")
_UNNAMED_CLASSES = 1000


@dataclass(frozen=True)
class Refused:
    """A row that cannot be used, and why."""

    row: int
    texts: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Inputs:
    """Labelled texts, and where they come from."""

    texts: list[str]
    pairs: list[str] | None
    labels: list[int]
    rows: list[int]
    source: str
    names: tuple[str, ...] = ()
    """Label names by class number, as far as they are known."""
    refused: tuple[Refused, ...] = ()


class Reads(Protocol):
    """What is evaluated, as far as its inputs go; a :class:`~unfooled.predictors.Classifier` is one."""

    @property
    def labels(self) -> tuple[str, ...]: ...

    @property
    def task(self) -> Mapping[str, Any] | None: ...

    @property
    def takes_pairs(self) -> bool: ...


@dataclass(frozen=True)
class Reader:
    """Labels alone: whether one or two texts are read is not known, and is up to the data."""

    labels: tuple[str, ...] = ()
    """Empty: the classes have no names, and the data's numbers are meant."""
    task: Mapping[str, Any] | None = None
    takes_pairs: bool = False


def load_inputs(
    reader: Reads,
    run: Path | None,
    *,
    task: str | None = None,
    data: str | None = None,
    split: str = "test",
    limit: int | None = None,
    columns: Mapping[str, str | None],
    encoding: str = "utf-8",
    lenient: bool = False,
) -> Inputs:
    """All rows of a file, or a split of a task: the run's own if none is named.

    ``columns`` are text_column, pair_column and label_column of ``data``; the first ``limit`` rows in
    stratified order are taken. ``lenient``: bad rows of a file are in ``refused``.
    """
    if task and data:
        raise UsageError("Give --task or --data, not both.")
    if not data and any(columns.values()):
        raise UsageError("Columns are for --data; a task has its own. Leave them out, or name the file too.")
    if split not in ("test", "dev", "train"):
        raise UsageError(f"--split {split}: there are test, dev and train.")
    if data and not data.startswith("hub:"):
        return _file_inputs(reader, data, limit, columns, encoding, lenient)
    config = _config(run, task, data, columns)
    from unfooled.api.train import load_data

    # A prefix of a split is stratified, and of train only what the run saw counts as train.
    splits = load_data(replace(config, limit_dev=None, limit_test=None))
    numbers = _class_numbers(reader.labels, splits.task.labels, splits.task.name)
    if reader.task and (splits.task.kind == "pair") != reader.takes_pairs:
        raise UserError(f"{splits.task.name} and the run differ in kind: one takes two texts, the other one.")
    table = getattr(splits, split)[:limit]
    return Inputs(
        texts=table["text"],
        pairs=table.get("text_pair"),
        labels=[numbers[label] for label in table["label"]],
        rows=table["row"],
        source=f"{splits.task.name} ({split})",
        names=tuple(name for _, name in sorted(zip(numbers, splits.task.labels, strict=True))),
    )


def training_texts(
    run: Path | None, *, task: str | None, data: str | None, columns: Mapping[str, str | None]
) -> list[str] | None:
    """Texts of the kind that is evaluated, none of them held out; None if there is nothing but a file."""
    from unfooled.api.train import load_data

    is_file = bool(data) and not str(data).startswith("hub:")
    if is_file and (run is None or not (run / "config.yaml").is_file()):
        return None
    config = _config(run, None, None, {}) if is_file else _config(run, task, data, columns)
    train = load_data(config).train
    pairs = train["text_pair"] if "text_pair" in train.column_names else []
    return [*train["text"], *pairs]


def _class_numbers(own: Sequence[str], labels: Sequence[str], source: str) -> list[int]:
    """The class number of each label of a task: by name, or in order where classes are only numbered."""
    if sorted(own) == sorted(labels):
        return [own.index(label) for label in labels]
    if not own or (len(own) == len(labels) and _only_numbered(own)):
        return list(range(len(labels)))
    raise UserError(
        f"{source} has the labels {', '.join(labels)}, but the run answers {', '.join(own)}. "
        "Choose a task with the same labels."
    )


def _only_numbered(labels: Sequence[str]) -> bool:
    """Whether the names only say the class number: 0, 1, … or LABEL_0, LABEL_1, …"""
    found = [_NUMBERED.fullmatch(name) for name in labels]
    return [match and int(match[1]) for match in found] == list(range(len(labels)))


def _config(
    run: Path | None, task: str | None, data: str | None, columns: Mapping[str, str | None]
) -> TrainConfig:
    saved = None if run is None else run / "config.yaml"
    if saved is not None and not saved.is_file():
        saved = None
    if not (task or data):
        if saved is None:
            raise UsageError(
                f"{'The victim' if run is None else run} does not say what it was trained on. "
                "Give --task NAME or --data FILE."
            )
        return make_config(read_config(saved))
    seed = read_config(saved).get("seed", 0) if saved is not None else 0
    return make_config({"task": task, "data": data, "seed": seed, **(columns if data else {})})


def _file_inputs(
    reader: Reads,
    path: str,
    limit: int | None,
    columns: Mapping[str, str | None],
    encoding: str,
    lenient: bool,
) -> Inputs:
    from unfooled.data.cells import texts_of
    from unfooled.data.columns import choose_columns
    from unfooled.data.labels import label_ids
    from unfooled.data.split import TEST_KEY, stratified_order
    from unfooled.data.tables import read_table

    table = read_table(path, encoding=encoding)
    names = {name.removesuffix("_column"): value for name, value in columns.items()}
    chosen = choose_columns(table, **names)
    if reader.task and reader.takes_pairs != (chosen.pair is not None):
        wanted = (
            "two texts: name both with --text-column and --pair-column"
            if reader.takes_pairs
            else ("one text: name its column with --text-column")
        )
        raise UsageError(f"{path}: the run takes {wanted}.")
    known = _label_set(reader.labels, table, chosen.label, path)
    refused: tuple[Refused, ...] = ()
    if lenient:
        table, refused = _sifted(table, chosen, known)
    labels = label_ids(table, chosen.label, known)
    texts = [texts_of(table, column) for column in chosen.texts]
    order = stratified_order(labels, TEST_KEY)[:limit]
    return Inputs(
        texts=[texts[0][i] for i in order],
        pairs=[texts[1][i] for i in order] if chosen.pair else None,
        labels=[labels[i] for i in order],
        rows=[table.rows[i][0] for i in order],
        source=writable(path),
        names=() if _only_numbered(reader.labels) else reader.labels,
        refused=refused,
    )


def _label_set(own: tuple[str, ...], table: Table, column: str, path: str) -> LabelSet:
    """Labels by name; by number if that is how more of the column can be read."""
    from unfooled.data.labels import LabelSet

    cells = [str(record.get(column)).strip().removesuffix(".0") for _, record in table.rows]
    by_name = {label: index for index, label in enumerate(own)}
    by_id = {str(index): index for index in range(len(own) or _UNNAMED_CLASSES)}
    if sum(cell in by_id for cell in cells) > sum(cell in by_name for cell in cells):
        return LabelSet(own, by_id)
    if not own:
        raise UsageError(
            f"{path}: the labels in column {column!r} are names, but the victim's classes have none. "
            "Name them with --labels, in the order of its scores."
        )
    return LabelSet(own, by_name)


def _sifted(table: Table, columns: Columns, labels: LabelSet) -> tuple[Table, tuple[Refused, ...]]:
    """The rows that can be used, and the others with the reason."""
    from unfooled.data.cells import texts_of
    from unfooled.data.labels import label_ids

    good, refused = [], []
    for place, record in table.rows:
        alone = replace(table, rows=[(place, record)])
        try:
            for column in columns.texts:
                texts_of(alone, column)
            label_ids(alone, columns.label, labels)
        except DataError as error:
            cells = (record.get(column) for column in columns.texts)
            texts = tuple(cell if isinstance(cell, str) else "" for cell in cells)
            refused.append(Refused(place, texts, str(error)))
        else:
            good.append((place, record))
    if not good:
        raise DataError(f"{table.name}: no row can be used. The first: {refused[0].reason}")
    return replace(table, rows=good), tuple(refused)
