"""IDX files, the format of MNIST: a header with the sizes, then a byte per pixel or label; plain or gzipped.

A header says what the file must hold, and no more than that is ever read or kept.
"""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path
from typing import IO, cast

import numpy as np
from numpy.typing import NDArray

from unfooled.data.images.image_rows import ImageRows, ImageSplits, rows_of
from unfooled.errors import DataError

_BYTES = 8  # the code of unsigned bytes in an IDX header
LARGEST = 4 << 30
"""Bytes of one file, unpacked."""
_CHUNK = 1 << 20
_SPLITS = {"train": "train", "test": "t10k"}


def read_idx_folder(folder: Path, name: str, labels: tuple[str, ...] | None = None) -> ImageSplits:
    """The splits of a folder with ``train-images-idx3-ubyte``, ``train-labels-idx1-ubyte`` and, if there is a
    test split, ``t10k-…`` or ``test-…``. Without ``labels`` the classes have their numbers as names."""
    train = _split(folder, name, "train")
    if train is None:
        raise DataError(
            f"{folder} has no train-images-idx3-ubyte (or .gz). Name the folder that holds the IDX files."
        )
    test = _split(folder, name, "test")
    known = labels or tuple(map(str, range(int(train.labels.max()) + 1)))
    for rows in (train, test):
        if rows is not None and (above := np.flatnonzero(rows.labels >= len(known))).size:
            raise DataError(
                f"{rows.names[above[0]]} has the label {rows.labels[above[0]]}, but {name} has the classes 0 "
                f"to {len(known) - 1}. Correct the labels file."
            )
    return ImageSplits(name, known, train, test=test)


def is_idx_folder(folder: Path) -> bool:
    """Whether there are IDX files of a training split."""
    return _find(folder, "train", "images", 3) is not None


def _split(folder: Path, name: str, split: str) -> ImageRows | None:
    at = _find(folder, split, "images", 3)
    if at is None:
        return None
    labels_at = _find(folder, split, "labels", 1)
    if labels_at is None:
        raise DataError(f"{at} has no labels beside it: {split}-labels-idx1-ubyte (or .gz) is missing.")
    images, labels = read_idx(at, 3), read_idx(labels_at, 1)
    if len(images) != len(labels):
        raise DataError(
            f"{at} holds {len(images):,} images, but {labels_at.name} {len(labels):,} labels. "
            "Use the two files of one dataset."
        )
    if not images.size:
        raise DataError(f"{at} holds no images.")
    return rows_of(images[..., None], labels, f"{name}, {split}")


def _find(folder: Path, split: str, what: str, dimensions: int) -> Path | None:
    for start in dict.fromkeys((_SPLITS[split], split)):
        for dot in "-.":
            for end in ("", ".gz"):
                place = folder / f"{start}-{what}{dot}idx{dimensions}-ubyte{end}"
                if place.is_file():
                    return place
    return None


def read_idx(path: Path, dimensions: int) -> NDArray[np.uint8]:
    """The array of a file of unsigned bytes with so many dimensions."""
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            stream = cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if packed else raw
            return _array(stream, path, dimensions)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{path} cannot be read: {reason}. Fetch or copy the file again.") from error


def _array(stream: IO[bytes], path: Path, dimensions: int) -> NDArray[np.uint8]:
    header = stream.read(4 + 4 * dimensions)
    if len(header) < 4 + 4 * dimensions or header[:2] != b"\0\0":
        raise DataError(f"{path} is not an IDX file: its first bytes are {header[:4]!r}.")
    if header[2] != _BYTES or header[3] != dimensions:
        raise DataError(
            f"{path} has {header[3]} dimensions of the type 0x{header[2]:02x}; {dimensions} of unsigned "
            "bytes (0x08) are needed."
        )
    shape = [int.from_bytes(header[at : at + 4], "big") for at in range(4, len(header), 4)]
    size = math.prod(shape)
    if size > LARGEST:
        sizes = " × ".join(f"{n:,}" for n in shape)
        raise DataError(f"{path} says that it holds {sizes} bytes, more than {LARGEST >> 30} GB.")
    body = bytearray()
    while len(body) <= size and (chunk := stream.read(min(_CHUNK, size + 1 - len(body)))):
        body += chunk  # in pieces: a header that lies costs no memory
    if len(body) != size:
        state = "is cut short" if len(body) < size else "holds more than its header says"
        raise DataError(f"{path} {state} (its header states {size:,} bytes). Fetch or copy the file again.")
    return np.frombuffer(body, np.uint8).reshape(shape)
