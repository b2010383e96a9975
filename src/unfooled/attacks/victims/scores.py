"""Scores from outside, checked before an attack believes them.

A mistake in how the victim is set up (shape, logits taken for probabilities) is a :class:`UserError` and ends
the run. Once a victim has given one good row, its setup is right: what is wrong then is a :class:`BadAnswer`
and breaks only the attack that asked for it, as is any score that is no number.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from unfooled.attacks.victim import Answer, Query
from unfooled.errors import UserError

TOLERANCE = 1e-3
"""How far from one a row of probabilities may sum: what half precision and rounding in JSON leave."""

HARMLESS = "This is a text."
"""Asked to see whether a victim works at all, if it has not given a good answer yet."""


class VictimUnavailable(UserError):
    """The victim cannot be reached or does not answer."""


class BadAnswer(ValueError):
    """The victim answered one query with something unusable."""


def checked_scores(
    scores: object, queries: Sequence[Query], *, victim: str, classes: int | None = None, logits: bool = False
) -> np.ndarray:
    """Probabilities ``(queries, classes)``, each row summing to one; anything else is refused by row."""
    table = _table(scores, len(queries), victim)
    if table.shape[1] < 2:
        raise UserError(
            f"{victim} gave one score per text. Return one probability per class: [1 - p, p] for two classes."
        )
    if classes is not None and table.shape[1] != classes:
        raise UserError(
            f"{victim} gave {table.shape[1]} scores per text, but has {classes} labels. "
            "Give one label per class."
        )
    if len(bad := np.flatnonzero(~np.isfinite(table).all(axis=1))):
        raise BadAnswer(f"{victim} gave scores that are not finite {_named(bad[0], queries, table)}")
    if logits:
        exponentials = np.exp(table - table.max(axis=1, keepdims=True))
        return exponentials / exponentials.sum(axis=1, keepdims=True)
    wrong = (table < 0).any(axis=1) | (np.abs(table.sum(axis=1) - 1) > TOLERANCE)
    if len(bad := np.flatnonzero(wrong)):
        raise UserError(
            f"{victim} gave scores that are not probabilities {_named(bad[0], queries, table)}. They must be "
            "at least 0 and sum to 1 in each row; if the victim gives logits, set logits=True."
        )
    return table / table.sum(axis=1, keepdims=True)


class ScoreCheck:
    """Checks all answers of one victim, and remembers whether there ever was a good row."""

    def __init__(self) -> None:
        self.seen_good = False

    def table(self, scores: Any, queries: Sequence[Query], **how: Any) -> np.ndarray:
        """As :func:`checked_scores`; a :class:`UserError` only as long as no row was good."""
        try:
            table = checked_scores(scores, queries, **how)
        except (UserError, BadAnswer) as error:
            self.seen_good = self.seen_good or _some_row_is_good(scores, queries, **how)
            if self.seen_good and not isinstance(error, BadAnswer):
                raise BadAnswer(str(error)) from error
            raise
        self.seen_good = self.seen_good or bool(queries)
        return table


def one_each(scores: object, queries: Sequence[Query]) -> bool:
    """Whether there is something for each query, so that what is wrong may be wrong with one of them."""
    return hasattr(scores, "__len__") and len(scores) == len(queries)


def answers_of(table: np.ndarray) -> list[Answer]:
    """One answer a row, the most probable class as its label."""
    return [
        Answer(tuple(row), int(label)) for row, label in zip(table.tolist(), table.argmax(1), strict=True)
    ]


def in_order(named: Sequence[dict[str, object]], labels: Sequence[str], *, victim: str) -> list[list[object]]:
    """The scores of rows of ``{label: score}`` in the order of ``labels``."""
    if not labels:
        names = ", ".join(repr(name) for name in sorted(named[0]))
        raise UserError(
            f"{victim} names its classes ({names}): give labels=[…], in the order of your data's classes."
        )
    rows = []
    for number, row in enumerate(named):
        if missing := [label for label in labels if label not in row]:
            raise UserError(
                f"{victim} gave no score for {missing[0]!r} in row {number}, only for "
                f"{', '.join(repr(name) for name in sorted(row))}. Ask it for the scores of all classes "
                "(top_k), and give labels=[…] as it spells them."
            )
        if unknown := sorted(row.keys() - set(labels)):
            raise UserError(f"{victim} gave a score for {unknown[0]!r}, which is not one of the labels.")
        rows.append([row[label] for label in labels])
    return rows


def _table(scores: object, rows: int, victim: str) -> np.ndarray:
    try:
        table = np.asarray(_plain(scores), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UserError(
            f"{victim} gave {type(scores).__name__} that is not a table of numbers ({error}). "
            "Return one list of class probabilities per text, all of the same length."
        ) from error
    if table.ndim != 2 or len(table) != rows:
        raise UserError(
            f"{victim} gave scores of shape {table.shape} for {rows} texts. "
            f"Return one list of class probabilities per text: shape ({rows}, classes)."
        )
    return table


def _some_row_is_good(scores: Any, queries: Sequence[Query], **how: Any) -> bool:
    if not one_each(scores, queries):
        return False
    for number, query in enumerate(queries):
        with suppress(UserError, BadAnswer, TypeError, KeyError, IndexError):
            checked_scores([_plain(scores[number])], [query], **how)
            return True
    return False


def _plain(scores: object) -> object:
    """Numbers of a tensor, perhaps on a GPU, in half precision, with a gradient; anything else as it is."""
    return scores.detach().cpu().float().numpy() if hasattr(scores, "detach") else scores


def _named(row: int, queries: Sequence[Query], table: np.ndarray) -> str:
    shown = " | ".join(queries[row])
    shown = shown if len(shown) <= 60 else shown[:60] + "…"
    return f"in row {row} ({np.array2string(table[row], precision=4, threshold=6)}) for {shown!r}"
