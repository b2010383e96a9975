"""The named image tasks. To add one: write its reader, put it in ``IMAGE_TASKS``."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from unfooled.data.images.idx import read_idx_folder
from unfooled.data.images.image_files import read_image
from unfooled.data.images.image_rows import ImageRows, ImageSplits, rows_of
from unfooled.data.images.image_task import ImageTask
from unfooled.data.images.pixel_arrays import as_labels
from unfooled.errors import needs_extra
from unfooled.files import read_json
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

_THINGS = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


def _read_digits(folder: Path | None) -> ImageSplits:
    """8 × 8 digits in 17 grey levels, part of scikit-learn; the levels are spread over 0 to 255."""
    datasets = needs_extra("sklearn.datasets", "sklearn", "holds the task 'digits'")
    data, labels = datasets.load_digits(return_X_y=True)
    images = np.rint(np.asarray(data) * (255 / 16)).astype(np.uint8).reshape(-1, 8, 8, 1)
    return ImageSplits("digits", _DIGITS, rows_of(images, np.asarray(labels), "digits,"))


def _read_idx(folder: Path | None, *, name: str, labels: tuple[str, ...]) -> ImageSplits:
    assert folder is not None, f"{name} has an asset"
    return read_idx_folder(folder, name, labels)


def _read_cifar10(folder: Path | None) -> ImageSplits:
    """Sheets of 10,000 rows, each with the 1,024 pixels of one image; labels as JSON lists."""
    assert folder is not None, "cifar10 has an asset"
    train = [folder / f"data_batch_{number}.png" for number in range(1, 6)]
    return ImageSplits(
        "cifar10",
        _THINGS,
        _sheets(train, folder / "train_labels.json", "cifar10, train"),
        test=_sheets([folder / "test_batch.png"], folder / "test_labels.json", "cifar10, test"),
    )


def _sheets(files: list[Path], labels: Path, what: str) -> ImageRows:
    pixels = np.concatenate([read_image(file, channels=3) for file in files])
    numbers = as_labels(read_json(labels, list[int]), len(pixels), str(labels))
    return rows_of(pixels.reshape(-1, 32, 32, 3), numbers, what)


def _idx_task(name: str, description: str, labels: tuple[str, ...]) -> ImageTask:
    return ImageTask(name, description, labels, partial(_read_idx, name=name, labels=labels), asset=name)


IMAGE_TASKS: Registry[ImageTask] = Registry(
    "image-task",
    (
        ImageTask("digits", "Handwritten digits, 8 × 8 (scikit-learn)", _DIGITS, _read_digits),
        _idx_task("mnist", "Handwritten digits, 28 × 28 (MNIST)", _DIGITS),
        _idx_task("fashion-mnist", "Clothes, 28 × 28 (Fashion-MNIST)", _CLOTHES),
        ImageTask(
            "cifar10",
            "Photographs of 10 classes, 32 × 32 (CIFAR-10)",
            _THINGS,
            _read_cifar10,
            asset="cifar10",
        ),
    ),
    needs=("description", "labels", "read", "asset"),
)
