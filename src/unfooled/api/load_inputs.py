"""Labelled inputs for a run or another victim: what :class:`Inputs` names, read and fitted to its labels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from unfooled.data.inputs import Inputs, LabelledInputs, Reads, class_numbers, file_inputs, given_texts
from unfooled.errors import UsageError, UserError
from unfooled.files import writable
from unfooled.storage.config import TrainConfig, make_config, read_config


def load_inputs(
    reader: Reads, run: Path | None, inputs: Inputs, *, limit: int | None = None, lenient: bool = False
) -> LabelledInputs:
    """Given texts, all rows of a file, or a split of a task: the run's own if none is named.

    The first ``limit`` rows in stratified order are taken. ``lenient``: bad rows of a file go
    to ``refused``.
    """
    if inputs.texts is not None:
        return given_texts(reader, inputs, limit=limit)
    if inputs.is_file:
        found = file_inputs(reader, inputs, limit=limit, lenient=lenient)
        return replace(found, source=writable(found.source))
    config = _config(run, inputs)
    from unfooled.training.data import load_data

    # A prefix of a split is stratified, and of train only what the run saw counts as train.
    splits = load_data(replace(config, limit_dev=None, limit_test=None))
    numbers = class_numbers(reader.labels, splits.task.labels, splits.task.name)
    if reader.task and (splits.task.kind == "pair") != reader.takes_pairs:
        raise UserError(f"{splits.task.name} and the run differ in kind: one takes two texts, the other one.")
    table = getattr(splits, inputs.split)[:limit]
    return LabelledInputs(
        texts=table["text"],
        pairs=table.get("text_pair"),
        labels=[numbers[label] for label in table["label"]],
        rows=table["row"],
        source=f"{splits.task.name} ({inputs.split})",
        names=tuple(name for _, name in sorted(zip(numbers, splits.task.labels, strict=True))),
    )


def training_texts(run: Path | None, inputs: Inputs) -> list[str] | None:
    """Texts of the kind that is evaluated, none of them held out; None if there is nothing but a file."""
    from unfooled.training.data import load_data

    own_only = inputs.is_file or inputs.texts is not None
    if own_only and (run is None or not (run / "config.yaml").is_file()):
        return None
    train = load_data(_config(run, Inputs() if own_only else inputs)).train
    pairs = train["text_pair"] if "text_pair" in train.column_names else []
    return [*train["text"], *pairs]


def _config(run: Path | None, inputs: Inputs) -> TrainConfig:
    saved = None if run is None else run / "config.yaml"
    if saved is not None and not saved.is_file():
        saved = None
    if not (inputs.task or inputs.data):
        if saved is None:
            raise UsageError(
                f"{'The victim' if run is None else run} does not say what it was trained on. "
                "Give --task NAME or --data FILE."
            )
        return make_config(read_config(saved))
    seed = read_config(saved).get("seed", 0) if saved is not None else 0
    columns = inputs.columns if inputs.data else {}
    return make_config({"task": inputs.task, "data": inputs.data, "seed": seed, **columns})
