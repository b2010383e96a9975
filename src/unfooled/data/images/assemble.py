"""Splits of images that never leak, by the rules for texts: no duplicates, test fixed, dev by the seed."""

from __future__ import annotations

import hashlib
from collections import Counter

import numpy as np

from unfooled.data.images.image_rows import ImageData, ImageRows, ImageSplits
from unfooled.data.split import (
    DEV_SHARE,
    TEST_KEY,
    TEST_SHARE,
    check_classes,
    check_limits,
    held_out_places,
    stratified_order,
)
from unfooled.errors import DataError


def assemble_images(
    splits: ImageSplits,
    *,
    seed: int = 0,
    limit: int | None = None,
    limit_dev: int | None = None,
    limit_test: int | None = None,
) -> ImageData:
    """Drop duplicates, hold out what is missing, order every split so that its prefixes are stratified."""
    name, names = splits.name, splits.label_names
    check_limits(name, len(names), limit, limit_dev, limit_test)
    dropped: Counter[str] = Counter()
    train, dev, test = splits.train, splits.dev, splits.test
    seen = set(test.keys) if test else set()
    if dev is not None:
        dev = _without(dev, seen, dropped, "dev images that are also in test")
        if not len(dev):
            raise DataError(f"{name}: every dev image is also in test. Give a dev split of its own, or none.")
        seen |= set(dev.keys)
    train = _distinct(_without(train, seen, dropped, "training images that are also in dev or test"), dropped)
    held_out = (dev is None) + (test is None)
    check_classes(names, train.labels.tolist(), held_out=held_out, source=name)
    if test is None:
        kept, held = held_out_places(train.labels.tolist(), TEST_SHARE, TEST_KEY)
        train, test = train.take(kept), train.take(held)
    if dev is None:
        kept, held = held_out_places(train.labels.tolist(), DEV_SHARE, f"dev {seed}")
        train, dev = train.take(kept), train.take(held)
    height, width, channels = train.images.shape[1:]
    return ImageData(
        name=name,
        label_names=names,
        shape=(height, width, channels),
        train=_in_order(train, f"train {seed}", limit),
        dev=_in_order(dev, f"dev {seed}", limit_dev),
        test=_in_order(test, TEST_KEY, limit_test),
        source=identity(splits),
        dropped={reason: count for reason, count in dropped.items() if count},
        conversion=splits.conversion,
    )


def identity(splits: ImageSplits) -> str:
    """A digest of every image, label and class name of a source, whatever its files look like."""
    digest = hashlib.sha256(repr((splits.label_names, splits.train.images.shape[1:])).encode())
    for split in (splits.train, splits.dev, splits.test):
        digest.update(b"split")
        if split is not None:
            digest.update("".join(split.keys).encode())
            digest.update(np.ascontiguousarray(split.labels).data)
    return f"sha256:{digest.hexdigest()}"


def _in_order(rows: ImageRows, key: str, limit: int | None) -> ImageRows:
    return rows.take(stratified_order(rows.labels.tolist(), key)[:limit])


def _without(rows: ImageRows, seen: set[str], dropped: Counter[str], reason: str) -> ImageRows:
    places = [place for place, key in enumerate(rows.keys) if key not in seen]
    dropped[reason] += len(rows) - len(places)
    return rows if len(places) == len(rows) else rows.take(places)


def _distinct(rows: ImageRows, dropped: Counter[str]) -> ImageRows:
    """The first of each group of duplicates."""
    first: dict[str, int] = {}
    for place, key in enumerate(rows.keys):
        if first.setdefault(key, place) != place:
            same = rows.labels[first[key]] == rows.labels[place]
            dropped["duplicate images" if same else "duplicate images with another label"] += 1
    return rows if len(first) == len(rows) else rows.take(list(first.values()))
