"""Arrays that others made, as pixels: checked for shape, type and range, or refused with what to do."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unfooled.data.images.idx import LARGEST
from unfooled.data.images.image_rows import ImageRows, ImageSplits, Pixels, rows_of
from unfooled.errors import DataError
from unfooled.files import check_not_pipe

_NAMES = (("x_train", "y_train", "x_test", "y_test"), ("images", "labels", "test_images", "test_labels"))


def as_pixels(array: Any, what: str) -> Pixels:
    """``array`` as 8-bit pixels, images × height × width × channels; ``what`` names it in messages."""
    found = np.asarray(array)
    if found.ndim == 3:
        found = found[..., None]
    shape = " × ".join(map(str, found.shape))
    if found.ndim != 4 or 0 in found.shape:
        raise DataError(f"{what}: the shape is {shape}; images × height × width × channels is needed.")
    if found.shape[3] not in (1, 3):
        turned = " Move the channels to the end: array.transpose(0, 2, 3, 1)." * (found.shape[1] in (1, 3))
        raise DataError(f"{what}: the shape is {shape}; the last number, channels, must be 1 or 3.{turned}")
    if found.dtype == np.uint8:
        return found
    if found.dtype.kind == "f":
        bad = np.flatnonzero(~np.isfinite(found).all(axis=(1, 2, 3)))
        if bad.size:
            raise DataError(f"{what}, image {bad[0] + 1}: a pixel is NaN or infinite. Correct or remove it.")
        raise DataError(
            f"{what}: pixels are {found.dtype} from {found.min():g} to {found.max():g}; whole numbers from "
            "0 to 255 are needed. From 0…1 they are (array * 255).round().astype('uint8')."
        )
    if found.dtype.kind not in "iu":
        raise DataError(f"{what}: pixels are of the type {found.dtype}; uint8 is needed.")
    bad = np.flatnonzero(((found < 0) | (found > 255)).any(axis=(1, 2, 3)))
    if bad.size:
        raise DataError(
            f"{what}, image {bad[0] + 1}: pixels range from {found[bad[0]].min()} to {found[bad[0]].max()}; "
            "0 to 255 is needed."
        )
    return found.astype(np.uint8)


def as_labels(array: Any, count: int, what: str) -> NDArray[np.int64]:
    """Class numbers, one per image."""
    found = np.asarray(array)
    found = found[:, 0] if found.ndim == 2 and found.shape[1] == 1 else found
    if found.ndim != 1 or found.dtype.kind not in "iu" or (found.size and found.min() < 0):
        raise DataError(f"{what}: labels must be whole numbers from 0 on, one per image.")
    if len(found) != count:
        raise DataError(f"{what}: {count:,} images but {len(found):,} labels.")
    return found.astype(np.int64)


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of an ``.npz`` file by name; pickled objects and what is too large are refused."""
    check_not_pipe(path)
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > LARGEST:
            raise DataError(
                f"{path} unpacks to {size >> 30} GB, more than {LARGEST >> 30} GB. Give the images in a "
                "folder, one subfolder per class."
            )
        with np.load(path, allow_pickle=False) as found:
            return {name: found[name] for name in found.files}
    except DataError:
        raise
    except Exception as error:  # NumPy, zipfile and zlib have errors of their own for a damaged file
        reason = " ".join(str(error).split())[:200]
        raise DataError(f"{path} cannot be read as .npz ({reason}).") from error


def read_npz(path: Path) -> ImageSplits:
    """A file with ``x_train`` and ``y_train``, or ``images`` and ``labels``; and those of test, if it has."""
    arrays = read_arrays(path)
    for images, labels, test_images, test_labels in _NAMES:
        if images in arrays and labels in arrays:
            train = _rows(arrays, images, labels, path, "train")
            has_test = test_images in arrays and test_labels in arrays
            test = _rows(arrays, test_images, test_labels, path, "test") if has_test else None
            break
    else:
        raise DataError(
            f"{path} has the arrays {', '.join(arrays) or 'of nothing'}; x_train and y_train (and x_test, "
            "y_test) or images and labels are needed."
        )
    if test is not None and test.images.shape[1:] != train.images.shape[1:]:
        raise DataError(f"{path}: the images of train and test differ in shape.")
    classes = 1 + int(max(rows.labels.max() for rows in (train, test) if rows is not None))
    if classes > max(1000, len(train)):
        raise DataError(f"{path}: the largest label is {classes - 1:,}, which is hardly a class number.")
    return ImageSplits(f"npz({path})", tuple(map(str, range(classes))), train, test=test)


def _rows(arrays: dict[str, NDArray[Any]], images: str, labels: str, path: Path, split: str) -> ImageRows:
    pixels = as_pixels(arrays[images], f"{path}, {images}")
    return rows_of(
        pixels, as_labels(arrays[labels], len(pixels), f"{path}, {labels}"), f"{path.name}, {split}"
    )
