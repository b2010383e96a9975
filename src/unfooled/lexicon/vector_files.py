"""Word vectors on disk: text files and the GloVe assets, turned once into a memory map of unit rows.

A kept folder holds ``words.txt``, ``vectors.npy`` and, for counter-fitted vectors, the neighbours of
every word (``neighbours.npy``, ``cosines.npy``), under a name made of the source's SHA-256.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unfooled import assets
from unfooled.assets import digest
from unfooled.errors import DataError
from unfooled.lexicon.store import kept
from unfooled.lexicon.vectors import Vectors, nearest, unit

TABLE_WIDTH = 100  # neighbours kept for every word of counter-fitted vectors


def load_asset(name: str) -> Vectors:
    """The vectors of the asset ``glove`` (text) or ``glove-50d`` (NumPy)."""
    return open_folder(kept(f"{name}-{asset_digest(name)[:16]}", lambda folder: _build_asset(name, folder)))


def load_text(path: Path) -> Vectors:
    """The vectors of a text file, read again only when its bytes have changed."""
    key = f"vectors-{digest.of_file(path)[:16]}"
    return open_folder(kept(key, lambda folder: write(folder, *read_text(path))))


def asset_digest(name: str) -> str:
    """SHA-256 over the pinned SHA-256 of each file of an asset."""
    return hashlib.sha256(" ".join(file.sha256 for file in assets.describe(name).files).encode()).hexdigest()


def write(folder: Path, words: list[str], matrix: NDArray[np.float32], *, table: bool = False) -> None:
    """Write words and unit rows, with the nearest neighbours of every word if ``table``."""
    rows = unit(matrix)
    (folder / "words.txt").write_text("\n".join(words), encoding="utf-8", newline="\n")
    np.save(folder / "vectors.npy", rows)
    if table:
        near, cosines = nearest(rows, np.arange(len(rows)), TABLE_WIDTH)
        np.save(folder / "neighbours.npy", near)
        np.save(folder / "cosines.npy", cosines)


def open_folder(folder: Path) -> Vectors:
    """Vectors from a kept folder, memory-mapped. Its name, which says what they are made of, is hashed."""
    words = (folder / "words.txt").read_bytes().decode("utf-8").split("\n")
    matrix = _mapped(folder / "vectors.npy")
    table = None
    if (folder / "neighbours.npy").exists():
        table = _mapped(folder / "neighbours.npy"), _mapped(folder / "cosines.npy")
    fingerprint = hashlib.sha256(folder.name.encode()).hexdigest()
    return Vectors(words, matrix, table=table, fingerprint=fingerprint)


def _mapped(path: Path) -> NDArray[Any]:
    # A plain array over the map: slicing np.memmap itself costs ten times as much.
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


def read_text(path: Path) -> tuple[list[str], NDArray[np.float32]]:
    """Words and rows of a text file; of a word that is there twice, the first row counts."""
    words: dict[str, None] = {}
    rows: list[NDArray[np.float32]] = []
    width = 0
    for number, line in _lines(path):
        if not width:
            header = line.split()
            if number == 1 and len(header) == 2 and all(field.isdigit() for field in header):
                width = int(header[1])
                continue
            width = len(header) - 1
        word, _, numbers = _split(line, width)
        row = _numbers(numbers)
        if not word or width < 1 or len(row) != width or not np.isfinite(row).all():
            raise DataError(
                f"{path}, line {number}: expected a word and {width} finite numbers. Vectors must be in "
                "the text format of GloVe or word2vec; convert binary files first."
            )
        if word not in words:
            words[word] = None
            rows.append(row)
    if not rows:
        raise DataError(f"{path} holds no word vectors.")
    return list(words), np.stack(rows)


def _split(line: str, width: int) -> tuple[str, str, str]:
    word, space, numbers = line.partition(" ")
    if numbers.count(" ") > width - 1:  # a few words of GloVe 840B hold spaces
        parts = line.rsplit(" ", width)
        return parts[0], " ", " ".join(parts[1:])
    return word, space, numbers


def _numbers(text: str) -> NDArray[np.float32]:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # text that is no number
        try:
            return np.fromstring(text, sep=" ", dtype=np.float32)
        except (ValueError, DeprecationWarning):
            return np.empty(0, dtype=np.float32)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open(encoding="utf-8", newline="\n") as lines:
            for number, line in enumerate(lines, 1):
                if stripped := line.rstrip():
                    yield number, stripped
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path} is not UTF-8 text. Vectors must be in the text format of GloVe or word2vec; convert "
            "binary files first."
        ) from error


def _build_asset(name: str, folder: Path) -> None:
    source = assets.path(name)
    if name == "glove":
        write(folder, *read_text(source / "glove.840B.300d_filtered.txt"))
        return
    import pyarrow.parquet

    words = pyarrow.parquet.read_table(source / "glove_6B_index.parquet").column("index").to_pylist()
    write(folder, words, np.load(source / "glove_6B_50d_emb.npy", allow_pickle=False))
