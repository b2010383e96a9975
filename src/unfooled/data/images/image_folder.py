"""A folder of images by class: ``FOLDER/CLASS/*.png``, or ``FOLDER/train/CLASS/…`` with ``test`` and ``dev``.

Every file is looked at when the folder is opened, so a bad one is told before any work. Images that fit into
memory are decoded then; those of a larger folder when they are asked for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from unfooled.data.images.image_files import SUFFIXES, conversion, look, read_image
from unfooled.data.images.image_rows import ImageRows, ImageSplits, Pixels, Places, frozen, key_of
from unfooled.errors import DataError
from unfooled.settings import setting

IN_MEMORY = 1 << 30
"""Bytes of pixels that are kept."""
_SPLITS = {"train": "train", "dev": "dev", "val": "dev", "valid": "dev", "validation": "dev", "test": "test"}


@dataclass(frozen=True)
class FolderSettings:
    """How the images of a folder are read."""

    size: int | None = setting(
        None, "Resize every image to a square with this side, in pixels", at_least=1, at_most=2048
    )
    channels: Literal[1, 3] | None = setting(None, "1: grey, 3: colour; else colour if any image is")


@dataclass(frozen=True)
class FileImages:
    """Images that are read from their files when they are asked for."""

    files: tuple[Path, ...]
    each: tuple[int, int, int]
    settings: FolderSettings

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.files), *self.each)

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, places: Places) -> Pixels:
        if isinstance(places, int | np.integer):
            return self._one(self.files[places])
        at = np.arange(len(self.files))[places]
        return np.stack([self._one(self.files[place]) for place in at]) if at.size else self._none()

    def _one(self, path: Path) -> Pixels:
        image = read_image(path, channels=self.each[2], size=self.settings.size)
        if image.shape != self.each:
            raise DataError(f"{path} has changed since the folder was opened: its size is another.")
        return image

    def _none(self) -> Pixels:
        return np.zeros((0, *self.each), np.uint8)

    def take(self, places: Sequence[int]) -> FileImages:
        return FileImages(tuple(self.files[place] for place in places), self.each, self.settings)

    def redrawn(self, access: int) -> FileImages:
        return self


def read_folder(folder: Path, settings: FolderSettings = FolderSettings()) -> ImageSplits:
    """The splits of a folder; classes are named and ordered as their folders are."""
    splits = _split_folders(folder)
    classes = tuple(sorted(place.name for place in _folders(splits["train"])))
    if len(classes) < 2:
        raise DataError(
            f"{splits['train']} has too few folders of images, {len(classes)}: a classifier needs two "
            "classes. Put the images of each class into a folder of its own: FOLDER/CLASS/IMAGE.png."
        )
    listed = {split: _listed(place, classes) for split, place in splits.items()}
    files = [path for found, _ in listed.values() for path in found]
    shape = _common_shape(files, settings)
    lazy = len(files) * shape[0] * shape[1] * shape[2] > IN_MEMORY
    rows = {
        split: _rows(folder, found, labels, shape, settings, lazy)
        for split, (found, labels) in listed.items()
    }
    return ImageSplits(
        folder.name,
        classes,
        rows["train"],
        rows.get("dev"),
        rows.get("test"),
        conversion=conversion(settings.size, settings.channels),
    )


def image_paths(folder: Path) -> list[Path]:
    """The image files of a folder in the order of their names; hidden ones do not count."""
    found = sorted(place for place in folder.iterdir() if not place.name.startswith("."))
    for place in found:
        if place.is_dir():
            raise DataError(f"{place} is a folder among images. Move it elsewhere.")
        if place.suffix.lower() not in SUFFIXES:
            raise DataError(
                f"{place} is not an image of a supported kind ({', '.join(SUFFIXES)}). Move or convert it."
            )
    if not found:
        raise DataError(f"{folder} holds no images ({', '.join(SUFFIXES)}).")
    return found


def _split_folders(folder: Path) -> dict[str, Path]:
    if not folder.is_dir():
        raise DataError(f"There is no folder {folder}.")
    inner = _folders(folder)
    if not any(place.name == "train" for place in inner):
        return {"train": folder}
    splits: dict[str, Path] = {}
    for place in inner:
        split = _SPLITS.get(place.name)
        if split is None or split in splits:
            raise DataError(
                f"{place} is beside train, but is not a split: a folder has train and, if you "
                "like, dev (or val, validation) and test."
            )
        splits[split] = place
    return splits


def _folders(folder: Path) -> list[Path]:
    return sorted(place for place in folder.iterdir() if place.is_dir() and not place.name.startswith("."))


def _listed(folder: Path, classes: Sequence[str]) -> tuple[list[Path], list[int]]:
    files, labels = [], []
    for place in _folders(folder):
        if place.name not in classes:
            raise DataError(f"{place}: train has no class {place.name!r}. Its classes: {', '.join(classes)}.")
        found = image_paths(place)
        files += found
        labels += [classes.index(place.name)] * len(found)
    if not files:
        raise DataError(f"{folder} holds no folders of images.")
    return files, labels


def _common_shape(files: Sequence[Path], settings: FolderSettings) -> tuple[int, int, int]:
    shapes = [look(path) for path in files]
    channels = settings.channels or max(shape[2] for shape in shapes)
    if settings.size is not None:
        return settings.size, settings.size, channels
    height, width = shapes[0][:2]
    for path, shape in zip(files, shapes, strict=True):
        if shape[:2] != (height, width):
            raise DataError(
                f"{path} has {shape[1]} × {shape[0]} pixels, but {files[0]} {width} × {height}. Give images "
                f"of one size, or squash them: folder({files[0].parents[1]}, size={min(height, width)})."
            )
    return height, width, channels


def _rows(
    folder: Path,
    files: list[Path],
    labels: list[int],
    shape: tuple[int, int, int],
    settings: FolderSettings,
    lazy: bool,
) -> ImageRows:
    images = FileImages(tuple(files), shape, settings)
    pixels: Pixels | FileImages = images
    if lazy:
        keys = [_file_key(path) for path in files]
    else:
        pixels = frozen(images[:])
        keys = [key_of(image) for image in pixels]
    return ImageRows(
        images=pixels,
        labels=np.array(labels, dtype=np.int64),
        names=[str(path.relative_to(folder.parent)) for path in files],
        rows=np.arange(1, len(files) + 1),
        keys=keys,
    )


def _file_key(path: Path) -> str:
    return hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
