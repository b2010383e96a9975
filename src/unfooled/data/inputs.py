"""Which labelled inputs to use: a split of a named task, every row of a file, or texts of your own.

>>> Inputs(task="snli", split="dev")
>>> Inputs(data="reviews.csv", text_column="review", label_column="stars")
>>> Inputs(texts=["a gorgeous film"], labels=["positive"])

A file is read strictly (its first bad row is an error) or leniently: then bad rows are set aside with the
reason, and the others are used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from unfooled.errors import DataError, UsageError, UserError
from unfooled.parsing import quoted
from unfooled.records.row_check import RowCheck
from unfooled.settings import setting

if TYPE_CHECKING:
    from torch import Tensor

    from unfooled.data.columns import Columns
    from unfooled.data.labels import LabelSet
    from unfooled.data.tables.data_table import DataTable

T = TypeVar("T")
_NUMBERED = re.compile(r"(?:LABEL_)?(\d{1,4})")
_UNNAMED_CLASSES = 1000


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """Which inputs; with no argument, the test split of the task that a run was trained on.

    Give one of ``task``, ``data`` (a CSV, TSV, JSONL or Parquet file, or ``hub:NAME``) and ``texts``.
    """

    task: str | None = setting(None, "Named task; the run's own if not given")
    data: str | None = setting(None, "Labelled file, all rows of it; or hub:NAME")
    split: str = setting("test", "Split of a task: test, dev or train; a file is used whole")
    text_column: str | None = setting(None, "Column with the text, for --data")
    pair_column: str | None = setting(None, "Column with the second text of a pair, for --data")
    label_column: str | None = setting(None, "Column with the label, for --data")
    encoding: str = setting("utf-8", "Character encoding of the file")
    allow_training_rows: bool = setting(
        False, "Include rows that the run was trained on; without it they are left out and counted"
    )
    texts: Sequence[str] | None = None
    pairs: Sequence[str] | None = None
    """The second text of each pair, with ``texts``."""
    labels: Sequence[str | int] | None = None
    """The true labels of ``texts`` or ``tensors``, by name or number."""
    tensors: Any = None
    """One row per input, ``(inputs, …)``: a tensor for a model of tensors, an array of images for another."""

    def __post_init__(self) -> None:
        if self.task and self.data:
            raise UsageError("Give --task or --data, not both.")
        if self.texts is not None and (self.task or self.data):
            raise UsageError("Give texts, or --task or --data, not both.")
        if self.tensors is not None and (self.texts is not None or self.pairs or self.task or self.data):
            raise UsageError("Give tensors alone: texts, pairs, --task and --data are for texts.")
        if self.pairs is not None and self.texts is None:
            raise UsageError("pairs belong to texts: give texts=[…] too.")
        if self.labels is not None and self.texts is None and self.tensors is None:
            raise UsageError("labels belong to texts or tensors: give texts=[…] or tensors=… too.")
        if not self.data and any(self.columns.values()):
            raise UsageError(
                "Columns are for --data; a task has its own. Leave them out, or name the file too."
            )
        if self.split not in ("test", "dev", "train"):
            raise UsageError(f"--split {self.split}: choose test, dev or train.")

    @property
    def is_file(self) -> bool:
        return self.data is not None and not self.data.startswith("hub:")

    @property
    def columns(self) -> dict[str, str | None]:
        names = ("text_column", "pair_column", "label_column")
        return {name: getattr(self, name) for name in names}


def as_inputs(given: Inputs | Sequence[str] | Tensor | None) -> Inputs:
    """The inputs that a verb was given: a list of texts, or a tensor, stands for itself."""
    if given is None:
        return Inputs()
    if isinstance(given, Inputs):
        return given
    if isinstance(given, str):
        raise UsageError(
            "The inputs are one text: put it in brackets, [text]. A task or file is named by "
            "Inputs(task=…) or Inputs(data=…)."
        )
    if hasattr(given, "shape"):  # a tensor or an array of images, told without loading PyTorch
        return Inputs(tensors=given)
    if not hasattr(given, "__len__") or isinstance(given, Mapping):
        raise UsageError(f"The inputs are a list of texts, a tensor or Inputs(…), not {quoted(given)}.")
    return Inputs(texts=given)


@dataclass(frozen=True)
class RefusedRow:
    """A row that cannot be used, and why."""

    row: int
    texts: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class LabelledInputs:
    """Texts with their labels, and where they come from."""

    texts: list[str]
    pairs: list[str] | None
    labels: list[int]
    rows: list[int]
    source: str
    names: tuple[str, ...] = ()
    """Label names by class number, as far as they are known."""
    refused: tuple[RefusedRow, ...] = ()
    check: RowCheck | None = None
    """Whether there are rows among them that a run was trained on; None without a run."""

    def take(self, places: Sequence[int]) -> LabelledInputs:
        """The inputs at these places, in that order."""

        def pick(column: list[T]) -> list[T]:
            return [column[place] for place in places]

        pairs = None if self.pairs is None else pick(self.pairs)
        return replace(
            self, texts=pick(self.texts), pairs=pairs, labels=pick(self.labels), rows=pick(self.rows)
        )

    def first(self, limit: int | None) -> LabelledInputs:
        return self if limit is None else self.take(range(len(self.texts))[:limit])


class Reads(Protocol):
    """What is evaluated, as far as its inputs go; a classifier is one."""

    @property
    def labels(self) -> tuple[str, ...]: ...

    @property
    def task(self) -> Mapping[str, object] | None: ...

    @property
    def takes_pairs(self) -> bool: ...


@dataclass(frozen=True)
class Reader:
    """Labels alone: whether one or two texts are read is not known, and is up to the data."""

    labels: tuple[str, ...] = ()
    """Empty: the classes have no names, and the data's numbers are meant."""
    task: Mapping[str, object] | None = None
    takes_pairs: bool = False


def given_texts(reader: Reads, inputs: Inputs) -> LabelledInputs:
    """The texts of ``inputs`` with their labels, which must be given."""
    texts = list(inputs.texts or ())
    pairs = None if inputs.pairs is None else list(inputs.pairs)
    if not texts:
        raise UsageError("There is no text. Give at least one.")
    if pairs is not None and len(pairs) != len(texts):
        raise UsageError(f"{len(texts)} texts but {len(pairs)} pairs: give one pair per text.")
    if inputs.labels is None:
        raise UsageError("The true labels are needed: give Inputs(texts=[…], labels=[…]).")
    labels = label_numbers(reader.labels, inputs.labels, texts=len(texts))
    return LabelledInputs(
        texts=texts,
        pairs=pairs,
        labels=labels,
        rows=list(range(len(texts))),
        source="texts",
        names=() if only_numbered(reader.labels) else reader.labels,
    )


def label_numbers(
    own: Sequence[str], labels: Sequence[str | int], *, texts: int, thing: str = "text"
) -> list[int]:
    """The class number of each given label; names and numbers that do not exist are refused."""
    if len(labels) != texts:
        raise UsageError(f"{texts} {thing}s but {len(labels)} labels: give one label per {thing}.")
    found = []
    for label in labels:
        if isinstance(label, str) and label in own:
            found.append(own.index(label))
        elif isinstance(label, int) and 0 <= label < (len(own) or _UNNAMED_CLASSES):
            found.append(int(label))
        else:
            raise UsageError(f"There is no label {label!r}. Labels: {', '.join(own) or 'class numbers'}.")
    return found


def class_numbers(own: Sequence[str], labels: Sequence[str], source: str) -> list[int]:
    """The class number of each label of a task: by name, or in order where classes are only numbered."""
    if sorted(own) == sorted(labels):
        return [own.index(label) for label in labels]
    if not own or (len(own) == len(labels) and only_numbered(own)):
        return list(range(len(labels)))
    raise UserError(
        f"{source} has the labels {', '.join(labels)}, but the run answers {', '.join(own)}. "
        "Choose a task with the same labels."
    )


def only_numbered(labels: Sequence[str]) -> bool:
    """Whether the names only say the class number: 0, 1, … or LABEL_0, LABEL_1, …"""
    found = [_NUMBERED.fullmatch(name) for name in labels]
    return [match and int(match[1]) for match in found] == list(range(len(labels)))


def file_inputs(reader: Reads, inputs: Inputs, *, lenient: bool = False) -> LabelledInputs:
    """The rows of a file in stratified order."""
    from unfooled.data.cell_values import texts_of
    from unfooled.data.columns import choose_columns
    from unfooled.data.labels import label_ids
    from unfooled.data.split import TEST_KEY, stratified_order
    from unfooled.data.tables import read_table

    path = str(inputs.data)
    table = read_table(path, encoding=inputs.encoding)
    names = {name.removesuffix("_column"): value for name, value in inputs.columns.items()}
    chosen = choose_columns(table, **names)
    if reader.task and reader.takes_pairs != (chosen.pair is not None):
        wanted = (
            "two texts: name both with --text-column and --pair-column"
            if reader.takes_pairs
            else ("one text: name its column with --text-column")
        )
        raise UsageError(f"{path}: the run takes {wanted}.")
    known = _label_set(reader.labels, table, chosen.label, path)
    refused: tuple[RefusedRow, ...] = ()
    if lenient:
        table, refused = _sifted(table, chosen, known)
    labels = label_ids(table, chosen.label, known)
    texts = [texts_of(table, column) for column in chosen.texts]
    order = stratified_order(labels, TEST_KEY)
    return LabelledInputs(
        texts=[texts[0][i] for i in order],
        pairs=[texts[1][i] for i in order] if chosen.pair else None,
        labels=[labels[i] for i in order],
        rows=[table.rows[i][0] for i in order],
        source=path,
        names=() if only_numbered(reader.labels) else reader.labels,
        refused=refused,
    )


def _label_set(own: tuple[str, ...], table: DataTable, column: str, path: str) -> LabelSet:
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


def _sifted(table: DataTable, columns: Columns, labels: LabelSet) -> tuple[DataTable, tuple[RefusedRow, ...]]:
    """The rows that can be used, and the others with the reason."""
    from unfooled.data.cell_values import texts_of
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
            refused.append(RefusedRow(place, texts, str(error)))
        else:
            good.append((place, record))
    if not good:
        raise DataError(f"{table.name}: no row can be used. The first: {refused[0].reason}")
    return replace(table, rows=good), tuple(refused)
