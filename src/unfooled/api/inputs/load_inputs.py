"""Labelled inputs for a run or another victim: what :class:`Inputs` names, read and fitted to its labels.

A run knows the rows of its splits (:mod:`unfooled.training.run_rows`). Its own test split is made of the rows
that were test rows then, whatever the data file holds now; rows it was trained on are left out and counted.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from unfooled.api.inputs.unseen_rows import unseen_places
from unfooled.data.fingerprints import RowFingerprints
from unfooled.data.inputs import Inputs, LabelledInputs, Reads, class_numbers, file_inputs, given_texts
from unfooled.data.rows import Rows
from unfooled.data.split import TEST_KEY, TaskData, stratified_order
from unfooled.errors import UsageError, UserError
from unfooled.files import read_yaml, writable
from unfooled.records.row_check import RowCheck
from unfooled.storage.config import TrainConfig, make_config
from unfooled.training.run_rows import CONFIG, TEST, kept_test, read_fingerprints, run_config

NEEDS_TEXTS = (
    "The recipe fits a masked language model to the training texts; --masked-lm NAME uses another one, "
    "without them."
)


def load_inputs(
    reader: Reads, run: Path | None, inputs: Inputs, *, limit: int | None = None, lenient: bool = False
) -> LabelledInputs:
    """Given texts, all rows of a file, or a split of a task: the run's own if none is named.

    The first ``limit`` rows in stratified order are taken. ``lenient``: bad rows of a file go
    to ``refused``. Rows that the run was trained on are left out, unless they are given as texts or allowed.
    """
    from unfooled.training.data import load_data

    if (reader.task or {}).get("kind") == "qa":
        raise UsageError(
            "This run answers questions, and this needs labels. `unfooled evaluate` measures it on files of "
            "questions."
        )
    known = None if run is None else read_fingerprints(run)
    if inputs.texts is not None:
        found = given_texts(reader, inputs)
    elif inputs.is_file:
        found = file_inputs(reader, inputs, lenient=lenient)
        found = replace(found, source=writable(found.source))
    elif run is not None and not inputs.task and not inputs.data:
        found = _own_split(reader, run, inputs.split, known)
    else:
        data = load_data(_config(run, inputs))
        found = _of_task(reader, data, data.rows[inputs.split], inputs.split)
    if run is not None:
        found = _checked(found, run, known, include=inputs.allow_training_rows or inputs.texts is not None)
    return found.first(limit)


def count_training_rows(run: Path | None, inputs: Inputs) -> RowCheck | None:
    """How many of the given texts the run was trained on; they are used all the same."""
    if run is None or inputs.texts is None or (known := read_fingerprints(run)) is None:
        return None
    rows = Rows(list(inputs.texts), text_pair=None if inputs.pairs is None else list(inputs.pairs))
    training, dev = (sum(known.which(rows, split)) for split in ("train", "dev"))
    return RowCheck(len(rows), training, included=True, dev=dev)


def training_texts(run: Path | None, inputs: Inputs) -> list[str] | None:
    """Texts of the kind that is evaluated, none of them held out; None if there is nothing but a file."""
    from unfooled.training.data import load_data

    own_only = inputs.is_file or inputs.texts is not None
    if own_only and (run is None or not (run / CONFIG).is_file()):
        return None
    if run is not None and (own_only or not (inputs.task or inputs.data)):
        try:
            train = _split_of(_own_data(run), read_fingerprints(run), "train")
        except UserError as error:
            raise UserError(f"{error} {NEEDS_TEXTS}") from error
    else:
        train = load_data(_config(run, inputs)).rows["train"]
    return [*train.text, *(train.text_pair or ())]


def _own_split(reader: Reads, run: Path, split: str, known: RowFingerprints | None) -> LabelledInputs:
    """A split of the data that the run was trained on; its test rows from its own folder if it keeps them."""
    kept = kept_test(run, reader.labels) if split == "test" else None
    if kept is not None:
        rows, place = kept if known is None else known.pick(kept, split), str(run / TEST)
        source = f"{(reader.task or {}).get('name')} ({split})"
        found = LabelledInputs(rows.text, rows.text_pair, rows.label, rows.row, source, reader.labels)
    else:
        data = _own_data(run)
        found, place = _of_task(reader, data, _split_of(data, known, split), split), data.task.name
    if not found.texts:
        raise UserError(
            f"{writable(place)} has none of the {split} rows of {writable(run)}. Restore the data it was "
            "trained on, or name other inputs with --data."
        )
    missing = 0 if known is None else len(known.splits[split]) - len(found.texts)
    return replace(found, check=RowCheck(len(found.texts), missing=missing))


def _of_task(reader: Reads, data: TaskData, rows: Rows, split: str) -> LabelledInputs:
    """Rows of a task with the class numbers of the reader."""
    task = data.task
    numbers = class_numbers(reader.labels, task.labels, task.name)
    if reader.task and (task.kind == "pair") != reader.takes_pairs:
        raise UserError(f"{task.name} and the run differ in kind: one takes two texts, the other one.")
    names = tuple(name for _, name in sorted(zip(numbers, task.labels, strict=True)))
    labels = [numbers[label] for label in rows.label]
    return LabelledInputs(rows.text, rows.text_pair, labels, rows.row, f"{task.name} ({split})", names)


def _own_data(run: Path) -> TaskData:
    """The data of a run as they are now, all rows of them."""
    from unfooled.training.data import load_data

    if not (run / CONFIG).is_file():
        raise UsageError(f"{run} does not say what it was trained on. Give --task NAME or --data FILE.")
    return load_data(replace(run_config(run), limit=None))


def _split_of(data: TaskData, known: RowFingerprints | None, split: str) -> Rows:
    """The rows that were in the split when the run was trained; if that is unknown, those of a new split."""
    if known is None:
        return data.rows[split]
    return known.pick(data.rows["train"] + data.rows["dev"] + data.rows["test"], split)


def _checked(
    found: LabelledInputs, run: Path, known: RowFingerprints | None, *, include: bool
) -> LabelledInputs:
    """The inputs with their ``check``; without the rows that the run was trained on, unless ``include``."""
    rows = Rows(found.texts, found.labels, found.rows, found.pairs)
    in_split = None if known is None else lambda split: known.which(rows, split)
    left, check = unseen_places(run, in_split, rows=len(rows), include=include, source=found.source)
    if check is not None and found.check is not None:
        check = replace(check, missing=found.check.missing)
    found = replace(found, check=check)
    if left is None:
        return found
    order = stratified_order([rows.label[place] for place in left], TEST_KEY)
    return found.take([left[place] for place in order])


def _config(run: Path | None, inputs: Inputs) -> TrainConfig:
    """The configuration that reads a named task or hub dataset, with the seed of the run."""
    if not (inputs.task or inputs.data):
        raise UsageError("The victim does not say what it was trained on. Give --task NAME or --data FILE.")
    saved = None if run is None else run / CONFIG
    seed = read_yaml(saved).get("seed", 0) if saved is not None and saved.is_file() else 0
    columns = inputs.columns if inputs.data else {}
    return make_config({"task": inputs.task, "data": inputs.data, "seed": seed, **columns})
