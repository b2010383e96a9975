"""Wrappers: drawn anew per access, keyed by seed, row and access, the same whatever the batch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tiny_images import picture, write_idx

from unfooled.data.images import ImageData, load_images
from unfooled.data.images.keyed_draws import below, row_keys, uniform
from unfooled.data.images.textures import textures
from unfooled.errors import DataError, UsageError


@pytest.fixture
def inner(tmp_path: Path) -> Path:
    return write_idx(tmp_path / "idx", rows=300, test=80)


def corners(data: ImageData, batch: np.ndarray, plain: np.ndarray) -> list[tuple[int, int]]:
    """Where each image stands in its background."""
    height, width = plain.shape[1:3]
    found = []
    for canvas, image in zip(batch, plain, strict=True):
        spots = [
            (top, left)
            for top in range(canvas.shape[0] - height + 1)
            for left in range(canvas.shape[1] - width + 1)
            if np.array_equal(canvas[top : top + height, left : left + width], image)
        ]
        assert len(spots) == 1
        found += spots
    return found


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        (2, {(0, 0), (6, 7)}),
        (4, {(0, 0), (6, 7), (0, 7), (6, 0)}),
        ("edges", {(t, x) for t in range(7) for x in range(8) if t in (0, 6) or x in (0, 7)}),
    ],
)
def test_images_stand_at_their_places_of_the_background(inner: Path, places: object, expected: set) -> None:
    plain = load_images(inner)
    data = load_images(f"background({inner}, size=12, count=8, places={places})")
    assert data.shape == (12, 12, 1) and data.train.names == plain.train.names
    assert set(corners(data, data.train.images[:], plain.train.images)) == expected
    assert set(corners(data, data.test.images[:], plain.test.images)) <= expected


def test_draws_depend_on_seed_row_and_access_alone(inner: Path) -> None:
    name = f"background({inner}, size=12, count=8, places=edges)"
    data, same, other = load_images(name), load_images(name), load_images(name, seed=1)
    first = data.train.images[:]
    assert np.array_equal(first, same.train.images[:])
    assert np.array_equal(first[[7, 3]], data.train.images[[7, 3]])
    assert np.array_equal(first[5], data.train.images[5])
    assert np.array_equal(first[:4], load_images(name, limit=4).train.images[:])
    assert np.array_equal(first[[9, 2]], data.train.take([9, 2]).images[:])
    again = data.train.redrawn(1).images[:]
    assert (again != first).any(axis=(1, 2, 3)).mean() > 0.9
    assert np.array_equal(again, same.train.redrawn(1).images[:])
    assert np.array_equal(first, data.train.redrawn(1).redrawn(0).images[:])
    # The test split is the same for every training seed, and is redrawn too.
    assert np.array_equal(data.test.images[:], other.test.images[:])
    assert (data.test.redrawn(1).images[:] != data.test.images[:]).any(axis=(1, 2, 3)).mean() > 0.9
    row = {int(number): place for place, number in enumerate(other.train.rows)}
    shared = [(place, row[int(n)]) for place, n in enumerate(data.train.rows) if int(n) in row]
    moved = [not np.array_equal(first[a], other.train.images[b]) for a, b in shared]
    assert len(moved) > 100 and np.mean(moved) > 0.9


def test_train_and_test_have_backgrounds_of_their_own(inner: Path) -> None:
    data = load_images(f"background({inner}, size=12, count=40)")
    pools = [
        {image.tobytes() for image in rows.images.backgrounds} for rows in (data.train, data.dev, data.test)
    ]  # type: ignore[union-attr]
    assert [len(pool) for pool in pools] == [40, 40, 10]
    assert pools[0] == pools[1] and not pools[0] & pools[2]


def test_backgrounds_of_a_file_or_folder_are_squashed_and_their_path_is_no_identity(
    inner: Path, tmp_path: Path
) -> None:
    image = pytest.importorskip("PIL.Image")
    arrays = {
        part: np.stack([picture(20, 30, seed=s + n) for n in range(5)])
        for part, s in (("train", 0), ("test", 9))
    }
    sources = set()
    for name in ("one.npz", "two.npz"):
        np.savez(tmp_path / name, **arrays)
        data = load_images(f"background({inner}, size=12, backgrounds={tmp_path / name})")
        assert data.train.images.backgrounds.shape == (5, 12, 12, 1)  # type: ignore[union-attr]
        sources.add(data.source)
    assert len(sources) == 1
    for part, pictures in arrays.items():
        (tmp_path / "own" / part).mkdir(parents=True)
        for number, pixels in enumerate(pictures):
            image.fromarray(pixels).save(tmp_path / "own" / part / f"{number}.png")
    data = load_images(f"background({inner}, size=12, backgrounds={tmp_path / 'own'})")
    assert data.test.images.backgrounds.shape == (5, 12, 12, 1)  # type: ignore[union-attr]


def test_a_training_background_that_is_also_in_test_is_left_out_and_counted(
    inner: Path, tmp_path: Path
) -> None:
    train, test = (np.stack([picture(20, 30, seed=s + n) for n in range(5)]) for s in (0, 3))
    np.savez(tmp_path / "own.npz", train=train, test=test)
    data = load_images(f"background({inner}, size=12, backgrounds={tmp_path / 'own.npz'})")
    pools = [{image.tobytes() for image in rows.images.backgrounds} for rows in (data.train, data.test)]  # type: ignore[union-attr]
    assert [len(pool) for pool in pools] == [3, 5] and not pools[0] & pools[1]
    assert data.dropped["training backgrounds that are also in test"] == 2
    np.savez(tmp_path / "same.npz", train=train, test=train)
    with pytest.raises(DataError, match=r"same\.npz: every training background is also in test"):
        load_images(f"background({inner}, size=12, backgrounds={tmp_path / 'same.npz'})")


def test_identity_changes_with_every_setting(inner: Path) -> None:
    settings = ("size=12", "size=13", "size=12, places=4", "size=12, seed=1", "size=12, count=9")
    names = [f"background({inner}, {one}{'' if 'count' in one else ', count=8'})" for one in settings]
    assert len({load_images(name).source for name in [*names, str(inner), f"crop({inner}, padding=2)"]}) == 7


def test_backgrounds_that_cannot_be_used_are_told(inner: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"size 4 is smaller than the images \(5 × 6 pixels\)"):
        load_images(f"background({inner}, size=4)")
    with pytest.raises(UsageError, match=r"there is no folder or \.npz file nowhere"):
        load_images(f"background({inner}, backgrounds=nowhere)")
    (tmp_path / "own" / "train").mkdir(parents=True)
    with pytest.raises(DataError, match="holds no images"):
        load_images(f"background({inner}, backgrounds={tmp_path / 'own'})")
    np.savez(tmp_path / "one.npz", train=np.zeros((2, 8, 8, 3), np.uint8))
    with pytest.raises(DataError, match=r"one\.npz has no array test"):
        load_images(f"background({inner}, backgrounds={tmp_path / 'one.npz'})")


def test_crop_shifts_the_image_over_black(inner: Path) -> None:
    plain, data = load_images(inner), load_images(f"crop({inner}, padding=2)")
    assert data.shape == plain.shape
    shifts = set()
    for image, cut in zip(plain.train.images, data.train.images[:], strict=True):  # type: ignore[arg-type]
        padded = np.pad(image, ((2, 2), (2, 2), (0, 0)))
        shifts |= {
            (top, left)
            for top in range(5)
            for left in range(5)
            if np.array_equal(padded[top : top + 6, left : left + 5], cut)
        }
    assert shifts == {(top, left) for top in range(5) for left in range(5)}
    with pytest.raises(UsageError, match="Give at most 4"):
        load_images(f"crop({inner}, padding=5)")


def test_wrappers_inside_each_other_are_redrawn_together(inner: Path) -> None:
    data = load_images(f"crop(background({inner}, size=12, count=8), padding=2)")
    assert data.name == f"crop(background(idx({inner}), size=12, count=8), padding=2)"
    assert load_images(data.name).source == data.source
    first, again = data.train.images[:], data.train.redrawn(1).images[:]
    assert first.shape[1:] == (12, 12, 1) and (first != again).any(axis=(1, 2, 3)).mean() > 0.9


def test_keyed_draws_are_uniform_and_independent() -> None:
    keys = row_keys(3, "train", np.arange(40_000))
    numbers = np.stack(
        [uniform(keys, 0), uniform(keys, 1), uniform(row_keys(4, "train", np.arange(40_000)), 0)]
    )
    assert abs(numbers.mean(axis=1) - 0.5).max() < 0.01 and abs(np.corrcoef(numbers) - np.eye(3)).max() < 0.02
    counts = np.bincount(below(keys, 2, 7), minlength=7)
    assert len(counts) == 7 and abs(counts / 40_000 - 1 / 7).max() < 0.01


def test_textures_look_like_photographs_and_are_repeatable() -> None:
    found = textures(60, 32, seed=0)
    assert np.array_equal(found[:5], textures(5, 32, seed=0)) and found.shape == (60, 32, 32, 3)
    assert (
        len({image.tobytes() for image in found} | {image.tobytes() for image in textures(60, 32, seed=1)})
        == 120
    )
    grey = found.mean(axis=3) / 255
    # Photographs at this size: contrast of 0.1 to 0.24, neighbours differ by 0.02 to 0.07.
    assert 0.1 < np.median(grey.std(axis=(1, 2))) < 0.24
    assert 0.02 < np.median(abs(np.diff(grey, axis=2)).mean(axis=(1, 2))) < 0.07
