"""Images of a Hugging Face dataset: a hub name or a local folder with an image column and a class column.

The column's bytes are decoded here, under the rules of every image file, not by the dataset library.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from unfooled.data.hub import download_dataset
from unfooled.data.images.image_files import conversion, decode, read_image
from unfooled.data.images.image_rows import ImageRows, ImageSplits, Pixels, rows_of
from unfooled.errors import DataError, UsageError
from unfooled.settings import setting

if TYPE_CHECKING:
    from datasets import Dataset

_LABELS = ("label", "labels", "fine_label", "class")


@dataclass(frozen=True)
class HubImageSettings:
    """Which columns of a dataset are meant, and how its images are read."""

    config: str | None = setting(None, "Configuration of the dataset")
    image_column: str | None = setting(None, "Column with the image, if there are several")
    label_column: str | None = setting(None, "Column with the class, if there are several")
    size: int | None = setting(
        None, "Resize every image to a square with this side, in pixels", at_least=1, at_most=2048
    )
    channels: Literal[1, 3] | None = setting(None, "1: grey, 3: colour; else colour if any image is")


def read_hub_images(dataset_id: str, settings: HubImageSettings = HubImageSettings()) -> ImageSplits:
    """The splits of a dataset; ``validation`` is dev. What is missing is held out of train later."""
    source = download_dataset(dataset_id, settings.config)
    if "train" not in source:
        raise DataError(
            f"{dataset_id}: there is no split 'train'. Splits found: {', '.join(map(str, source))}."
        )
    image, label = _columns(dataset_id, source["train"], settings)
    names = _class_names(dataset_id, source["train"], label)
    splits = {"train": "train", "dev": "validation", "test": "test"}
    decoded = {
        split: _images(source[theirs], image, f"{dataset_id}, split {theirs}", settings)
        for split, theirs in splits.items()
        if theirs in source
    }
    channels = settings.channels or max(one.shape[2] for images in decoded.values() for one in images)
    rows = {
        split: _rows(
            source[splits[split]], images, label, names, f"{dataset_id}, split {splits[split]}", channels
        )
        for split, images in decoded.items()
    }
    shapes = {split.images.shape[1:] for split in rows.values()}
    if len(shapes) > 1:
        raise DataError(f"{dataset_id}: the splits differ in the size of their images. Set size=….")
    return ImageSplits(
        dataset_id,
        names,
        rows["train"],
        rows.get("dev"),
        rows.get("test"),
        conversion=conversion(settings.size, settings.channels),
    )


def _columns(dataset_id: str, data: Dataset, settings: HubImageSettings) -> tuple[str, str]:
    from datasets import ClassLabel, Image

    def choose(named: str | None, fitting: list[str], what: str, option: str) -> str:
        if named is not None:
            if named not in data.column_names:
                raise UsageError(
                    f"{dataset_id} has no column {named!r}. Its columns: {', '.join(data.column_names)}."
                )
            return named
        if len(fitting) != 1:
            found = ", ".join(fitting) or "none"
            raise UsageError(
                f"{dataset_id}: one column with the {what} is needed, found: {found}. Its columns: "
                f"{', '.join(data.column_names)}. Name it: {option}=…."
            )
        return fitting[0]

    images = [name for name, feature in data.features.items() if isinstance(feature, Image)]
    labels = [name for name, feature in data.features.items() if isinstance(feature, ClassLabel)]
    labels = labels or [name for name in data.column_names if name in _LABELS]
    return (
        choose(settings.image_column, images, "image", "image_column"),
        choose(settings.label_column, labels, "class", "label_column"),
    )


def _class_names(dataset_id: str, data: Dataset, column: str) -> tuple[str, ...]:
    from datasets import ClassLabel

    feature = data.features[column]
    if isinstance(feature, ClassLabel):
        return tuple(feature.names)
    values = sorted(set(data[column][:]), key=lambda value: (not isinstance(value, int), value, str(value)))
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        if values and (values[0] < 0 or values[-1] > 100_000):
            raise DataError(f"{dataset_id}: the labels in column {column!r} are not class numbers.")
        return tuple(map(str, range(values[-1] + 1)))
    if all(isinstance(value, str) for value in values):
        return tuple(values)
    raise DataError(f"{dataset_id}: the labels in column {column!r} are neither numbers nor text.")


def _images(data: Dataset, column: str, where: str, settings: HubImageSettings) -> list[Pixels]:
    from datasets import Image

    raw = data.cast_column(column, Image(decode=False))
    found = []
    for row, cell in enumerate(raw[column], start=1):
        found.append(_decoded(cell, f"{where}, row {row}", settings))
    if not found:
        raise DataError(f"{where}: there are no rows.")
    return found


def _decoded(cell: Any, name: str, settings: HubImageSettings) -> Pixels:
    content = cell.get("bytes") if isinstance(cell, dict) else None
    if content is not None:
        return decode(content, name, channels=settings.channels, size=settings.size)
    if isinstance(cell, dict) and cell.get("path"):
        return read_image(Path(cell["path"]), channels=settings.channels, size=settings.size)
    raise DataError(f"{name} has no image.")


def _rows(
    data: Dataset, images: list[Pixels], label: str, names: tuple[str, ...], where: str, channels: int
) -> ImageRows:
    first = images[0].shape[:2]
    for row, image in enumerate(images, start=1):
        if image.shape[:2] != first:
            raise DataError(
                f"{where}, row {row}: the image has {image.shape[1]} × {image.shape[0]} pixels, but that of "
                f"row 1 {first[1]} × {first[0]}. Squash them to one size: size=…."
            )
    pixels = np.stack(
        [np.repeat(image, channels, axis=2) if image.shape[2] < channels else image for image in images]
    )
    numbers = []
    for row, value in enumerate(data[label], start=1):
        number = names.index(value) if isinstance(value, str) and value in names else value
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < len(names):
            raise DataError(f"{where}, row {row}: unknown label {value!r}. Choose a labelled split.")
        numbers.append(number)
    return rows_of(pixels, np.array(numbers), f"{where},")
