"""Small image files, written by the tests themselves."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np


def idx_bytes(array: np.ndarray) -> bytes:
    """An array of bytes as an IDX file."""
    header = bytes([0, 0, 8, array.ndim]) + b"".join(n.to_bytes(4, "big") for n in array.shape)
    return header + array.astype(np.uint8).tobytes()


def write_idx(
    folder: Path, *, rows: int = 60, test: int = 10, classes: int = 3, packed: bool = False
) -> Path:
    """A folder like MNIST's with images of 6 × 5 pixels, all different."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    for split, size in (("train", rows), ("t10k", test)):
        for what, array in (
            ("images-idx3", rng.integers(0, 256, (size, 6, 5))),
            ("labels-idx1", np.arange(size) % classes),
        ):
            data = idx_bytes(array)
            name = f"{split}-{what}-ubyte"
            if packed:
                (folder / f"{name}.gz").write_bytes(gzip.compress(data))
            else:
                (folder / name).write_bytes(data)
    return folder


def picture(height: int = 6, width: int = 5, *, channels: int = 3, seed: int = 0) -> np.ndarray:
    """Random pixels, without a channel axis if they are grey."""
    shape = (height, width) if channels == 1 else (height, width, channels)
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def write_folder(
    folder: Path, *, splits: dict[str, int] | None = None, classes: tuple[str, ...] = ("cat", "dog")
) -> Path:
    """Pictures by class, all different: in the folder itself, or so many per class in each split."""
    from PIL import Image

    seed = 0
    for split, count in (splits or {"": 12}).items():
        for name in classes:
            place = folder / split / name
            place.mkdir(parents=True)
            for number in range(count):
                seed += 1
                Image.fromarray(picture(seed=seed)).save(place / f"{number}.png")
    return folder
