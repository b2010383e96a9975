"""The named image tasks. To add one: write its reader, put it in ``IMAGE_TASKS``."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from unfooled.data.images.idx import read_idx_folder
from unfooled.data.images.image_rows import ImageSplits, rows_of
from unfooled.data.images.image_task import ImageTask
from unfooled.errors import needs_extra
from unfooled.registry import Registry

_DIGITS = tuple("0123456789")
_CLOTHES = (
    "t-shirt",
    "trouser",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "ankle boot",
)


def _read_digits(folder: Path | None) -> ImageSplits:
    """8 × 8 digits in 17 grey levels, part of scikit-learn; the levels are spread over 0 to 255."""
    datasets = needs_extra("sklearn.datasets", "sklearn", "holds the task 'digits'")
    data, labels = datasets.load_digits(return_X_y=True)
    images = np.rint(np.asarray(data) * (255 / 16)).astype(np.uint8).reshape(-1, 8, 8, 1)
    return ImageSplits("digits", _DIGITS, rows_of(images, np.asarray(labels), "digits,"))


def _read_idx(folder: Path | None, *, name: str, labels: tuple[str, ...]) -> ImageSplits:
    assert folder is not None, f"{name} has an asset"
    return read_idx_folder(folder, name, labels)


def _idx_task(name: str, description: str, labels: tuple[str, ...]) -> ImageTask:
    return ImageTask(name, description, labels, partial(_read_idx, name=name, labels=labels), asset=name)


IMAGE_TASKS: Registry[ImageTask] = Registry(
    "image-task",
    (
        ImageTask("digits", "Handwritten digits, 8 × 8 (scikit-learn)", _DIGITS, _read_digits),
        _idx_task("mnist", "Handwritten digits, 28 × 28 (MNIST)", _DIGITS),
        _idx_task("fashion-mnist", "Clothes, 28 × 28 (Fashion-MNIST)", _CLOTHES),
    ),
    needs=("description", "labels", "read", "asset"),
)
