"""Labelled images for a run: its own test rows, or those of another image task.

What ``load_inputs`` is for texts: rows that the run was trained on are left out and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unfooled.api.inputs.unseen_rows import unseen_places
from unfooled.api.jobs.certify_job import Item
from unfooled.data.fingerprints import RowFingerprints
from unfooled.data.images import ImageRows
from unfooled.data.images.image_rows import key_of
from unfooled.data.inputs import Inputs, class_numbers
from unfooled.data.split import TEST_KEY, stratified_order
from unfooled.errors import UsageError, UserError
from unfooled.files import read_yaml, writable
from unfooled.records.certificate import Certificate
from unfooled.records.row_check import RowCheck
from unfooled.storage.config import make_config
from unfooled.training.data import has_images, load_image_task
from unfooled.training.image_data import ImageTaskData
from unfooled.training.run_rows import CONFIG, read_fingerprints, run_config

if TYPE_CHECKING:
    from unfooled.predictors import Classifier


def image_items(
    classifier: Classifier, run: Path | None, limit: int | None, inputs: Inputs
) -> tuple[list[Item], list[Certificate], str, RowCheck | None]:
    """The images that ``inputs`` names, the first ``limit`` of them, and what is known of their rows."""
    known = None if run is None else read_fingerprints(run)
    own = run is not None and not inputs.task and not inputs.data
    data = _data(run, inputs, own=own)
    numbers = class_numbers(classifier.labels, data.task.labels, data.task.name)
    if own and known is not None:
        rows = known.pick(data.rows[inputs.split], inputs.split)
        missing = len(known.splits[inputs.split]) - len(rows)
    else:
        rows, missing = data.rows[inputs.split], 0
    if not len(rows):
        raise UserError(
            f"{data.task.name} has none of the {inputs.split} rows of {writable(run or 'the run')}. Restore "
            "the data it was trained on, or name other inputs with --task or --data."
        )
    rows, check = _checked(rows, run, known, include=inputs.allow_training_rows, source=data.task.name)
    chosen = rows.take(range(len(rows))[:limit])
    items = [
        Item(int(chosen.rows[place]), np.asarray(chosen.images[place]), classifier.labels[numbers[label]])
        for place, label in enumerate(chosen.labels.tolist())
    ]
    found = None if check is None else replace(check, missing=missing)
    return items, [], f"{data.task.name} ({inputs.split})", found


def known_images(run: Path | None, items: Sequence[Item]) -> RowCheck | None:
    """How many of the given images the run was trained on; they are used all the same."""
    if run is None or (known := read_fingerprints(run)) is None:
        return None
    bytes_ = [item.own for item in items if isinstance(item.own, np.ndarray) and item.own.dtype == np.uint8]
    nothing = np.zeros(len(bytes_), dtype=np.int64)
    rows = ImageRows(
        np.zeros((len(bytes_), 0, 0, 0), np.uint8), nothing, [], nothing, [key_of(one) for one in bytes_]
    )
    training, dev = (sum(known.which(rows, split)) for split in ("train", "dev"))
    return RowCheck(len(items), training, included=True, dev=dev)


def _data(run: Path | None, inputs: Inputs, *, own: bool) -> ImageTaskData:
    if own:
        assert run is not None
        if not (run / CONFIG).is_file():
            raise UsageError(f"{run} does not say what it was trained on. Give --task NAME or --data FOLDER.")
        return load_image_task(replace(run_config(run), limit=None))
    if not (inputs.task or inputs.data):
        raise UsageError(
            "The classifier does not say what it was trained on. Give --task NAME or --data FOLDER."
        )
    saved = None if run is None else run / CONFIG
    seed = read_yaml(saved).get("seed", 0) if saved is not None and saved.is_file() else 0
    config = make_config({"task": inputs.task, "data": inputs.data, "seed": seed})
    if not has_images(config):
        raise UsageError(f"This run reads images, and {inputs.task or inputs.data} has texts.")
    return load_image_task(config)


def _checked(
    rows: ImageRows, run: Path | None, known: RowFingerprints | None, *, include: bool, source: str
) -> tuple[ImageRows, RowCheck | None]:
    """The rows that may be used, and how many the run was trained on."""
    in_split = None if known is None else lambda split: known.which(rows, split)
    left, check = unseen_places(run, in_split, rows=len(rows), include=include, source=source)
    if left is None:
        return rows, check
    order = stratified_order([int(rows.labels[place]) for place in left], TEST_KEY)
    return rows.take([left[place] for place in order]), check
