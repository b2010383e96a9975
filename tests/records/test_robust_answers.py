"""Robust scores: the worst copy counts, an original without copies by itself, drops are paired."""

from __future__ import annotations

import pytest

from unfooled.records.summaries.robust_answers import AnsweredQuestion, robust_answers, robust_metrics


def answered(
    id: str, answer: str, *, original: str | None = None, truth: str = "red car"
) -> AnsweredQuestion:
    own = original or id
    return AnsweredQuestion(id, own, f"p{own}", "which ?", "a red car or a blue car", (truth,), answer)


ASKED = [
    answered("1", "red car"),
    answered("1-a", "blue car", original="1"),  # F1 0.5
    answered("1-b", "bus", original="1"),  # the worst
    answered("1-c", "red car", original="1"),
    answered("2", "red car"),  # no copy: counts by itself
    answered("3", "bus"),
    answered("3-a", "red car", original="3"),  # better than the clean answer, and it counts all the same
]


def test_the_worst_copy_counts_and_an_original_without_copies_by_itself() -> None:
    found = {one.worst.original: one for one in robust_answers(ASKED, {})}
    assert [found[id].worst.id for id in "123"] == ["1-b", "2", "3-a"]
    assert [found[id].copies for id in "123"] == [3, 0, 1]
    metrics = robust_metrics(list(found.values()))
    assert metrics["robust_f1"] == pytest.approx((0 + 1 + 1) / 3)
    assert metrics["clean_f1"] == pytest.approx((1 + 1 + 0) / 3)
    assert metrics["drop_f1"] == pytest.approx((1 + 0 - 1) / 3)
    assert (metrics["questions"], metrics["attacked"], metrics["copies"]) == (3, 2, 4)
    low, high = metrics["drop_f1_interval"]
    assert low <= metrics["drop_f1"] <= high


def test_clean_answers_are_taken_from_another_file_by_id() -> None:
    copies = [one for one in ASKED if one.id != one.original]
    assert robust_metrics(robust_answers(copies, {}))["paired"] == 0
    elsewhere = {"1": answered("1", "red car")}
    metrics = robust_metrics(robust_answers(copies, elsewhere))
    assert metrics["paired"] == 1
    assert metrics["drop_f1"] == 1.0


def test_an_abstention_is_no_right_answer() -> None:
    silent = AnsweredQuestion("1", "1", "p", "q", "c", ("red",), "red", abstained=True)
    assert silent.score("f1") == 0.0
