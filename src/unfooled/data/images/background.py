"""P2's benchmark as a wrapper: each image stands on a larger background that says nothing of its class.

«Adaptive randomized smoothing», §4 and appendix 7.4: the image is pasted at one of a few places, or anywhere
along an edge, of a k × k background, redrawn at every access, in the test too; train and test have
backgrounds of their own. The paper's are BG-20k; here they are generated unless you give your own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unfooled.data.images import keyed_draws as draws
from unfooled.data.images.image_files import read_image
from unfooled.data.images.image_folder import image_paths
from unfooled.data.images.image_rows import LazyImages, Pixels, frozen
from unfooled.data.images.pixel_arrays import as_pixels, read_arrays
from unfooled.data.images.textures import textures
from unfooled.data.images.wrapping import RedrawnImages
from unfooled.errors import DataError, UsageError
from unfooled.settings import LARGEST_SEED, setting

GENERATED = "generated"
_GREY = np.array([0.299, 0.587, 0.114])
_CORNERS = ((0.0, 0.0), (1.0, 1.0), (0.0, 1.0), (1.0, 0.0), (0.0, 0.5), (1.0, 0.5), (0.5, 0.0), (0.5, 1.0))
"""Top left, bottom right; the other corners; the middles of the edges."""


@dataclass(frozen=True)
class Background:
    """Each image at a random place of a random background."""

    size: int = setting(48, "Pixels of the background in square (k)", at_least=2, at_most=1024)
    places: Literal[2, 4, 8, "edges"] = setting(
        2,
        "2: top left, bottom right; 4: the corners; 8: and the middles of the edges; edges: anywhere on one",
    )
    backgrounds: str = setting(
        GENERATED, "generated; or a folder with train and test, or an .npz file with arrays train and test"
    )
    count: int = setting(
        1000, "Generated backgrounds for train; a quarter of it for test", at_least=4, at_most=100_000
    )
    seed: int = setting(0, "Seed of the test's draws", at_least=0, at_most=LARGEST_SEED)

    def shape(self, inner: tuple[int, int, int]) -> tuple[int, int, int]:
        """The shape of the images, given that of the task inside."""
        if max(inner[:2]) > self.size:
            raise UsageError(
                f"background: size {self.size} is smaller than the images ({inner[1]} × {inner[0]} pixels)."
            )
        return self.size, self.size, inner[2]

    def pool(self, split: str, channels: int) -> Pixels:
        """The backgrounds of a split: train's serve dev too, without those that are also in test."""
        part = "test" if split == "test" else "train"
        if self.backgrounds == GENERATED:
            return _pool(self, part, channels, 0)
        return _pool(self, part, channels, _changed(Path(self.backgrounds).expanduser(), part))

    def left_out(self, channels: int) -> dict[str, int]:
        """How many of the user's training backgrounds are also in test, and so not used."""
        if self.backgrounds == GENERATED:
            return {}
        whole = len(_own(Path(self.backgrounds).expanduser(), "train", self.size))
        missing = whole - len(self.pool("train", channels))
        return {"training backgrounds that are also in test": missing} if missing else {}

    def described(self) -> str:
        """What the draws depend on, apart from the backgrounds themselves."""
        return f"background {self.size} {self.places} {self.seed}"

    def around(self, images: Pixels | LazyImages, keys: NDArray[np.uint64], split: str) -> LazyImages:
        return OnBackgrounds(images, keys, 0, self, self.pool(split, images.shape[3]))


@dataclass(frozen=True)
class OnBackgrounds(RedrawnImages):
    """Images on backgrounds, put together when they are asked for."""

    settings: Background
    backgrounds: Pixels

    @property
    def each(self) -> tuple[int, int, int]:
        return self.backgrounds.shape[1], self.backgrounds.shape[2], self.backgrounds.shape[3]

    def draw(self, images: Pixels, keys: NDArray[np.uint64]) -> Pixels:
        found = self.backgrounds[draws.below(keys, 0, len(self.backgrounds))]
        height, width = images.shape[1:3]
        tops, lefts = self._corners(keys, self.settings.size - height, self.settings.size - width)
        for image, top, left, canvas in zip(images, tops, lefts, found, strict=True):
            canvas[top : top + height, left : left + width] = image
        return found

    def _corners(
        self, keys: NDArray[np.uint64], down: int, right: int
    ) -> tuple[Sequence[int], Sequence[int]]:
        if self.settings.places == "edges":
            edge, along = draws.below(keys, 1, 4), draws.uniform(keys, 2)
            tops = np.select([edge == 0, edge == 1], [0, down], (along * (down + 1)).astype(np.int64))
            lefts = np.select([edge == 2, edge == 3], [0, right], (along * (right + 1)).astype(np.int64))
        else:
            corner = np.array(_CORNERS)[draws.below(keys, 1, self.settings.places)]
            tops, lefts = (corner[:, 0] * down).astype(np.int64), (corner[:, 1] * right).astype(np.int64)
        return tops.tolist(), lefts.tolist()


@lru_cache(maxsize=4)  # train and dev share theirs
def _pool(settings: Background, part: str, channels: int, changed: int) -> Pixels:
    if settings.backgrounds == GENERATED:
        train = part == "train"
        count = settings.count if train else max(1, settings.count // 4)
        found = textures(count, settings.size, seed=int(not train))
    else:
        place = Path(settings.backgrounds).expanduser()
        found = _own(place, part, settings.size)
        if part == "train":
            found = _not_in(found, _own(place, "test", settings.size), place)
    if channels == 1 and found.shape[3] == 3:
        found = np.rint(found @ _GREY).astype(np.uint8)[..., None]
    elif channels == 3 and found.shape[3] == 1:
        found = np.repeat(found, 3, axis=3)
    return frozen(found)


def _changed(place: Path, part: str) -> int:
    """When the user's backgrounds were last changed."""
    try:
        return (place / part if place.is_dir() else place).stat().st_mtime_ns
    except OSError:
        return 0


def _own(place: Path, part: str, size: int) -> Pixels:
    """The user's backgrounds, squashed to the size."""
    if place.is_dir():
        folder = place / part
        if not folder.is_dir():
            raise DataError(
                f"{place} has no folder {part}. Backgrounds need train and test, with no image in both."
            )
        return np.stack([read_image(path, channels=3, size=size) for path in image_paths(folder)])
    if place.suffix.lower() != ".npz" or not place.is_file():
        raise UsageError(
            f"background: there is no folder or .npz file {place}. Give backgrounds=FOLDER or "
            "backgrounds=FILE.npz, or leave it out: then they are generated."
        )
    arrays = read_arrays(place)
    if part not in arrays:
        raise DataError(
            f"{place} has no array {part}. Its arrays: {', '.join(arrays)}; train and test are needed."
        )
    return squashed(as_pixels(arrays[part], f"{place}, {part}"), size)


def _not_in(train: Pixels, test: Pixels, place: Path) -> Pixels:
    """The training backgrounds that are not among those of test, which a model must not have seen."""
    seen = {image.tobytes() for image in test}
    kept = [number for number, image in enumerate(train) if image.tobytes() not in seen]
    if not kept:
        raise DataError(
            f"{place}: every training background is also in test. Give train and test their own backgrounds."
        )
    return train[kept]


def squashed(images: Pixels, size: int) -> Pixels:
    """Images of any size as squares of ``size`` pixels; areas are averaged."""
    import torch

    planes = torch.from_numpy(np.array(images)).permute(0, 3, 1, 2).float()
    small = torch.nn.functional.interpolate(planes, (size, size), mode="bilinear", antialias=True)
    return small.round().clamp(0, 255).to(torch.uint8).permute(0, 2, 3, 1).contiguous().numpy()
