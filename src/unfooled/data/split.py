"""Splits that never leak: duplicates removed, test fixed for ever, dev fixed by the seed.

Every split comes in an order in which *each prefix* holds ⌊·⌋ or ⌈·⌉ of a class's share of
rows. So a sub-sample is a prefix, a smaller one is part of a larger one, and it is
stratified whatever its size.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from unfooled.data.rows import Rows, Splits
from unfooled.data.task import Task
from unfooled.errors import DataError, UsageError

if TYPE_CHECKING:
    from datasets import Dataset

TEST_SHARE = 1 / 8
DEV_SHARE = 1 / 10
TEST_KEY = "test"  # no seed of the user's: the test set of a source never changes


@dataclass(frozen=True)
class TaskData:
    """The three splits of a task, each with ``text``, ``text_pair`` (pairs only), ``label``
    and ``row``. No text of one split occurs in another, case and spacing aside."""

    task: Task
    train: Dataset
    dev: Dataset
    test: Dataset
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Rows left out, by reason."""
    rows: Mapping[str, Rows] = field(default_factory=dict, repr=False)
    """The rows of train as far as they are used, those of dev and test whatever their limits; in order."""

    def sizes(self) -> dict[str, int]:
        return {"train": len(self.train), "dev": len(self.dev), "test": len(self.test)}


def stratified_order(labels: Sequence[int], key: str) -> list[int]:
    """A shuffled order of the rows, every prefix of which is stratified within one row.

    The i-th row of a class with share λ may stand at place ⌊(i−1)/λ⌋ at the earliest and
    must stand before ⌈i/λ⌉; taking the most urgent one first always succeeds (Tijdeman's
    chairman assignment; proportionate-fair scheduling).
    """
    rng = random.Random(key)
    groups: dict[int, list[int]] = {}
    for place, label in enumerate(labels):
        groups.setdefault(label, []).append(place)
    total, slots = len(labels), []
    for label in sorted(groups):
        group = groups[label]
        rng.shuffle(group)
        for i, place in enumerate(group):
            earliest, before = i * total // len(group), -(-(i + 1) * total // len(group))
            slots.append((earliest, before, label, place))
    slots.sort(reverse=True)
    ready: list[tuple[int, int, int]] = []
    order = []
    for now in range(total):
        while slots and slots[-1][0] <= now:
            heapq.heappush(ready, slots.pop()[1:])
        order.append(heapq.heappop(ready)[2])
    return order


def held_out_places(labels: Sequence[int], share: float, key: str) -> tuple[list[int], list[int]]:
    """(kept, held out): the places of a stratified share of the rows, these in prefix-stratified order."""
    order = stratified_order(labels, key)
    size = max(1, round(len(labels) * share))
    return sorted(order[size:]), order[:size]


def hold_out(rows: Rows, share: float, key: str) -> tuple[Rows, Rows]:
    """(kept, held out): a stratified share of the rows, in prefix-stratified order."""
    kept, held = held_out_places(rows.label, share, key)
    return rows.take(kept), rows.take(held)


def assemble(
    task: Task,
    splits: Splits,
    *,
    seed: int = 0,
    limit: int | None = None,
    limit_dev: int | None = None,
    limit_test: int | None = None,
    source: str | None = None,
) -> TaskData:
    """Deduplicate, hold out what is missing, sub-sample."""
    dropped = Counter(splits.dropped)
    train, dev, test = splits.train, splits.dev, splits.test
    seen = set(test.keys()) if test else set()
    if dev is not None:
        dev = _without(dev, seen, dropped, "dev rows that are also in test")
        if not len(dev):
            raise DataError("Every dev row is also in test. Give a dev split of its own, or none at all.")
        seen |= set(dev.keys())
    train = _without(train, seen, dropped, "training rows that are also in dev or test")
    train = _distinct(train, dropped)
    check_classes(
        task.labels, train.label, held_out=(dev is None) + (test is None), source=source or task.name
    )
    if test is None:
        train, test = hold_out(train, TEST_SHARE, TEST_KEY)
    if dev is None:
        train, dev = hold_out(train, DEV_SHARE, f"dev {seed}")
    check_limits(task.name, len(task.labels), limit, limit_dev, limit_test)
    train = train.take(stratified_order(train.label, f"train {seed}")[:limit])
    dev = dev.take(stratified_order(dev.label, f"dev {seed}"))
    test = test.take(stratified_order(test.label, TEST_KEY))
    return TaskData(
        task=task,
        train=train.to_dataset(),
        dev=dev.take(range(len(dev))[:limit_dev]).to_dataset(),
        test=test.take(range(len(test))[:limit_test]).to_dataset(),
        dropped={reason: count for reason, count in dropped.items() if count},
        rows={"train": train, "dev": dev, "test": test},
    )


def _without(rows: Rows, seen: set[str], dropped: Counter[str], reason: str) -> Rows:
    places = [i for i, key in enumerate(rows.keys()) if key not in seen]
    dropped[reason] += len(rows) - len(places)
    return rows.take(places)


def _distinct(rows: Rows, dropped: Counter[str]) -> Rows:
    """The first of each group of duplicates."""
    first: dict[str, int] = {}
    for place, key in enumerate(rows.keys()):
        if first.setdefault(key, place) != place:
            same = rows.label[first[key]] == rows.label[place]
            dropped["duplicate rows" if same else "duplicate rows with another label"] += 1
    return rows.take(first.values())


def check_limits(
    task: str, classes: int, limit: int | None, limit_dev: int | None, limit_test: int | None
) -> None:
    """Refuse limits that leave a class, or a split, empty."""
    for name, value, least in (("", limit, classes), ("-dev", limit_dev, 1), ("-test", limit_test, 1)):
        if value is not None and value < least:
            raise UsageError(f"--limit{name} {value} is too small: {task} needs at least {least}.")


def check_classes(names: Sequence[str], labels: Sequence[int], *, held_out: int, source: str) -> None:
    """Refuse training rows that leave a class of a held-out split empty."""
    if not len(labels):
        raise DataError(f"{source}: every training row is also in dev or test. Give files that differ.")
    counts = Counter(labels)
    needed = 1 + held_out
    for label, name in enumerate(names):
        if counts[label] < needed:
            raise DataError(
                f"{source}: the class {name!r} has too few training rows after duplicates are removed:"
                f" {counts[label]}, and {needed} are needed so that every split can have one."
                " Add rows of that class, remove it, or give the dev and test files yourself."
            )
