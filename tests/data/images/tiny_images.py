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
