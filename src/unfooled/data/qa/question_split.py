"""Splits by paragraph: no paragraph of one split occurs in another, nor does an adversarial copy of it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from unfooled.data.qa.question_rows import QuestionRows, QuestionSplits
from unfooled.data.split import DEV_SHARE, TEST_KEY, TEST_SHARE, check_limits, stratified_order
from unfooled.data.task import Task
from unfooled.errors import DataError

MAX_LENGTH = 384
"""Tokens of a window: question and a part of the context (InfoBERT's setting for SQuAD)."""


@dataclass(frozen=True)
class QuestionData:
    """The splits of a file of questions, with their limits; ``rows`` has dev and test whole."""

    task: Task
    train: QuestionRows
    dev: QuestionRows
    test: QuestionRows
    dropped: Mapping[str, int] = field(default_factory=dict)
    rows: Mapping[str, QuestionRows] = field(default_factory=dict, repr=False)

    @property
    def unanswerable(self) -> bool:
        """Whether there are training questions without a right answer (SQuAD 2.0)."""
        return any(not question.answers for question in self.rows["train"])


def assemble_questions(
    splits: QuestionSplits,
    *,
    seed: int = 0,
    limit: int | None = None,
    limit_dev: int | None = None,
    limit_test: int | None = None,
) -> QuestionData:
    """Drop duplicates, hold out paragraphs for what is missing, sub-sample."""
    name = splits.name
    check_limits(name, 1, limit, limit_dev, limit_test)
    dropped = Counter(splits.dropped)
    train, dev, test = splits.train, splits.dev, splits.test
    seen = set(test.paragraphs) if test else set()
    if dev is not None:
        dev = _without(dev, seen, dropped, "dev questions on paragraphs of test")
        if not len(dev):
            raise DataError(f"{name}: every dev paragraph is also in test. Give a dev file of its own.")
        seen |= set(dev.paragraphs)
    train = _without(train, seen, dropped, "training questions on paragraphs of dev or test")
    train = _distinct(train, dropped)
    needed = 1 + (dev is None) + (test is None)
    if len(train.group_keys()) < needed:
        raise DataError(
            f"{name}: too few paragraphs are left for training: {len(train.group_keys())}, and {needed} are "
            "needed, since splits share no paragraph. Add paragraphs, or give --dev-data and --test-data."
        )
    if test is None:
        train, test = _hold_out(train, TEST_SHARE, TEST_KEY, keep=1 + (dev is None))
    if dev is None:
        train, dev = _hold_out(train, DEV_SHARE, f"dev {seed}", keep=1)
    train, dev, test = (
        _ordered(train, f"train {seed}"),
        _ordered(dev, f"dev {seed}"),
        _ordered(test, TEST_KEY),
    )
    train = train.take(range(len(train))[:limit])
    return QuestionData(
        task=Task(name, "Questions about texts", "qa", (), max_length=MAX_LENGTH, metric="f1"),
        train=train,
        dev=dev.take(range(len(dev))[:limit_dev]),
        test=test.take(range(len(test))[:limit_test]),
        dropped={reason: count for reason, count in dropped.items() if count},
        rows={"train": train, "dev": dev, "test": test},
    )


def _hold_out(rows: QuestionRows, share: float, key: str, *, keep: int) -> tuple[QuestionRows, QuestionRows]:
    """(kept, held out): whole paragraphs with about this share of the questions; ``keep`` stay at least."""
    counts = Counter(rows.paragraphs)
    order = sorted(counts)
    random.Random(key).shuffle(order)
    held: set[str] = set()
    wanted, taken = len(rows) * share, 0
    for paragraph in order[: len(order) - keep]:
        if held and taken + counts[paragraph] / 2 > wanted:
            break
        held.add(paragraph)
        taken += counts[paragraph]
    places = [place for place, paragraph in enumerate(rows.paragraphs) if paragraph in held]
    rest = [place for place, paragraph in enumerate(rows.paragraphs) if paragraph not in held]
    return rows.take(rest), rows.take(places)


def _ordered(rows: QuestionRows, key: str) -> QuestionRows:
    """A random order in which every prefix has its share of unanswerable questions."""
    return rows.take(stratified_order([int(not question.answers) for question in rows], key))


def _without(rows: QuestionRows, seen: set[str], dropped: Counter[str], reason: str) -> QuestionRows:
    places = [place for place, paragraph in enumerate(rows.paragraphs) if paragraph not in seen]
    dropped[reason] += len(rows) - len(places)
    return rows.take(places)


def _distinct(rows: QuestionRows, dropped: Counter[str]) -> QuestionRows:
    """The first of each group of duplicates."""
    first: dict[str, int] = {}
    for place, key in enumerate(rows.keys()):
        if first.setdefault(key, place) != place:
            same = set(rows[first[key]].truth) == set(rows[place].truth)
            dropped["duplicate questions" if same else "duplicate questions with other answers"] += 1
    return rows.take(list(first.values()))
