"""Splits of images: the rules of texts, on pixels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tiny_images import write_idx

from unfooled import assets
from unfooled.data.images import ImageSplits, load_images
from unfooled.data.images.assemble import assemble_images, identity
from unfooled.data.images.idx import read_idx_folder
from unfooled.data.images.image_rows import ImageRows, rows_of
from unfooled.errors import DataError, UsageError


def tiny(rows: int = 60, classes: int = 3, start: int = 0) -> ImageRows:
    pixels = np.random.default_rng(start).integers(0, 256, (rows, 4, 4, 1), dtype=np.uint8)
    return rows_of(pixels, np.arange(rows) % classes, "tiny,")


def keys(rows: ImageRows) -> set[str]:
    return set(rows.keys)


@pytest.mark.full
def test_digits_have_three_stratified_splits_of_bytes() -> None:
    pytest.importorskip("sklearn")
    data = load_images("digits", seed=1)
    assert (data.shape, data.sizes()) == ((8, 8, 1), {"train": 1415, "dev": 157, "test": 225})
    for rows in (data.train, data.dev, data.test):
        assert isinstance(rows.images, np.ndarray) and rows.images.dtype == np.uint8
        assert rows.images.max() == 255 and rows.labels.dtype == np.int64
        half = np.bincount(rows.labels[: len(rows) // 2], minlength=10)
        assert np.abs(half - np.bincount(rows.labels) / 2).max() < 1.5
    assert not keys(data.train) & (keys(data.dev) | keys(data.test))
    assert not keys(data.dev) & keys(data.test)


def test_test_split_is_fixed_and_the_seed_moves_dev() -> None:
    splits = ImageSplits("tiny", ("a", "b", "c"), tiny())
    one, same, other = (assemble_images(splits, seed=seed) for seed in (0, 0, 1))
    assert one.test.names == other.test.names
    assert one.dev.names == same.dev.names and keys(one.dev) != keys(other.dev)
    assert one.source == other.source
    assert sum(one.sizes().values()) == 60


def test_limits_take_prefixes_and_too_small_ones_are_refused() -> None:
    splits = ImageSplits("tiny", ("a", "b", "c"), tiny())
    whole, part = assemble_images(splits), assemble_images(splits, limit=9, limit_dev=2, limit_test=3)
    assert part.train.names == whole.train.names[:9] and part.sizes() == {"train": 9, "dev": 2, "test": 3}
    assert np.array_equal(part.train.images, whole.train.images[:9])
    with pytest.raises(UsageError, match="--limit 2 is too small"):
        assemble_images(splits, limit=2)


def test_duplicates_are_dropped_and_counted() -> None:
    train, test = tiny(30), tiny(6, start=1)
    images = np.concatenate([train.images, train.images[:2], test.images[:1]])
    labels = np.concatenate([train.labels, [train.labels[0], 2], test.labels[:1]])
    data = assemble_images(ImageSplits("t", ("a", "b", "c"), rows_of(images, labels, "t,"), test=test))
    assert data.dropped == {
        "training images that are also in dev or test": 1,
        "duplicate images": 1,
        "duplicate images with another label": 1,
    }
    assert len(data.train) + len(data.dev) == 30 and len(data.test) == 6


def test_class_that_is_too_small_to_split_is_named() -> None:
    rows = tiny(4, classes=3)
    with pytest.raises(DataError, match=r"tiny: the class 'a' has too few training rows.*: 2, and 3"):
        assemble_images(ImageSplits("tiny", ("a", "b", "c"), rows))


def test_identity_changes_with_one_pixel_or_label() -> None:
    rows = tiny(12)
    pixels, labels = np.array(rows.images), rows.labels.copy()
    pixels[3, 0, 0, 0] ^= 1
    labels[0] = 1
    names = ("a", "b", "c")
    found = {
        identity(ImageSplits("x", names, rows)),
        identity(ImageSplits("x", names, rows_of(pixels, rows.labels, "x,"))),
        identity(ImageSplits("x", names, rows_of(np.array(rows.images), labels, "x,"))),
        identity(ImageSplits("x", (*names, "d"), rows)),
    }
    assert len(found) == 4
    assert identity(ImageSplits("another name", names, tiny(12))) in found


def test_pixels_cannot_be_written_to_by_mistake() -> None:
    with pytest.raises(ValueError, match="read-only"):
        tiny().images[0, 0, 0, 0] = 1  # type: ignore[index]


@pytest.mark.parametrize("packed", [False, True])
def test_idx_folder_is_read(tmp_path: Path, packed: bool) -> None:
    splits = read_idx_folder(write_idx(tmp_path, packed=packed), "mine")
    assert splits.test is not None and splits.label_names == ("0", "1", "2")
    assert splits.train.images.shape == (60, 6, 5, 1) and splits.test.images.shape == (10, 6, 5, 1)
    assert splits.train.names[4] == "mine, train image 5"


@pytest.mark.full
@pytest.mark.parametrize("name", ["mnist", "fashion-mnist"])
def test_idx_tasks_hold_all_images(name: str) -> None:
    if not assets.cached(name):
        pytest.skip(f"the asset {name} is not cached")
    data = load_images(name, limit=100)
    assert data.sizes() == {"train": 100, "dev": 6000, "test": 10_000} and data.shape == (28, 28, 1)
    assert sum(data.dropped.values()) == 0 and len(data.label_names) == 10
