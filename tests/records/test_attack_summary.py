"""The numbers of an attack follow from its outcomes, with intervals and nothing counted twice."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unfooled.records.outcome import Outcome
from unfooled.records.summaries.attack_summary import STATUSES, attack_summary, untried
from unfooled.statistics.intervals import wilson
from unfooled.words.document import Change


def outcome(status: Any, **more: Any) -> Outcome:
    return Outcome(row=1, status=status, original=("a b c d",), truth=0, words=4, **more)


def change(number: int) -> Change:
    return Change(number, 0, number, number + 1, "a", "z")


MIXED = [
    *[
        outcome("success", queries=10, forwards=30, changes=(change(0),), similarity=0.9, pos_valid=True)
        for _ in range(4)
    ],
    *[
        outcome(
            "success",
            queries=20,
            forwards=60,
            changes=(change(0), change(1), change(2)),
            similarity=0.6,
            pos_valid=False,
        )
        for _ in range(2)
    ],
    outcome("failed", queries=50, forwards=150, budget_spent=True, limit_hit="queries", seconds=2.0),
    outcome("failed", queries=50, forwards=150, budget_spent=True, limit_hit="time", seconds=2.0),
    *[outcome("skipped", queries=1, forwards=3, seconds=0.5) for _ in range(2)],
    outcome("not-attackable", queries=1, forwards=3),
    outcome("refused"),
    outcome("error", queries=7),
]


def test_rates_are_over_the_inputs_they_are_about() -> None:
    summary = attack_summary(MIXED)
    assert summary["examples"] == 13
    assert summary["attacked"] == 8
    assert summary["counts"] == {
        "success": 6,
        "failed": 2,
        "skipped": 2,
        "not-attackable": 1,
        "refused": 1,
        "error": 1,
    }
    # The input with nothing to change was answered correctly, and is neither robust nor broken.
    assert (summary["sacc"]["count"], summary["sacc"]["n"]) == (9, 11)
    assert (summary["racc"]["count"], summary["racc"]["n"]) == (2, 10)
    assert (summary["asr"]["count"], summary["asr"]["n"]) == (6, 8)
    assert summary["asr"]["value"] == 0.75
    assert summary["asr"]["interval"] == list(wilson(6, 8))
    assert summary["budget_spent"] == 2
    assert summary["limits_hit"] == {"queries": 1, "time": 1}
    assert summary["total_seconds"] == 5.0


def test_costs_are_of_attacked_inputs_and_quality_of_successes() -> None:
    summary = attack_summary(MIXED)
    assert summary["queries"]["value"] == (4 * 10 + 2 * 20 + 2 * 50) / 8
    assert summary["forwards"]["value"] == 3 * summary["queries"]["value"]
    assert summary["changed_words"]["value"] == pytest.approx((4 * 1 + 2 * 3) / 6)
    assert summary["changed_share"]["value"] == pytest.approx((4 * 1 + 2 * 3) / 6 / 4)
    assert summary["similarity"]["value"] == pytest.approx(0.8)
    assert summary["similarity"]["n"] == 6
    assert (summary["pos_valid"]["count"], summary["pos_valid"]["n"]) == (4, 6)


@given(st.lists(st.floats(-1, 1, allow_subnormal=False), min_size=1, max_size=6))
def test_intervals_stay_inside_what_is_possible(similarities: list[float]) -> None:
    found = attack_summary([outcome("success", similarity=one) for one in similarities])
    for name, least, most in (
        ("similarity", -1, 1),
        ("changed_share", 0, 1),
        ("queries", 0, math.inf),
        ("asr", 0, 1),
    ):
        low, high = found[name]["interval"] or (least, most)
        assert least <= low <= found[name]["value"] <= high <= most


def test_mean_has_students_t_interval() -> None:
    summary = attack_summary([outcome("failed", queries=queries) for queries in (11, 12, 13)])
    low, high = summary["queries"]["interval"]
    # t(0.975, 2 degrees of freedom) = 4.302653; standard error 1 / √3
    assert (low, high) == (pytest.approx(12 - 2.484138, abs=1e-5), pytest.approx(12 + 2.484138, abs=1e-5))
    near_zero = attack_summary([outcome("failed", queries=queries) for queries in (0, 9)])["queries"]
    assert near_zero["interval"][0] == 0.0
    alone = attack_summary([outcome("failed", queries=3)])["queries"]
    assert alone == {"value": 3.0, "n": 1, "std": None, "interval": None}


def test_failures_in_which_nothing_was_tried_are_counted_unless_a_limit_was_hit() -> None:
    found = [
        outcome("success", tried=True),
        *[outcome("failed", tried=False) for _ in range(3)],
        outcome("failed", tried=True),
        outcome("failed", tried=False, budget_spent=True),
        outcome("not-attackable", tried=False),
        outcome("skipped", tried=False),
    ]
    summary = attack_summary(found)
    assert summary["untried"] == 3
    assert summary["racc"]["count"] == 5  # as TextAttack counts them
    assert untried(summary).startswith("on 3 inputs the constraints rejected every candidate")
    assert untried(attack_summary([outcome("failed", tried=True)])) == ""


def test_results_that_do_not_say_what_was_tried_give_no_such_count() -> None:
    old = attack_summary([outcome("failed"), outcome("failed", tried=False)])
    assert old["untried"] is None
    assert untried(old) == untried({}) == ""


def test_fixed_victim_has_no_re_verified_rates() -> None:
    assert not {"asr_verified", "racc_verified", "fresh_agreement"} & attack_summary(MIXED).keys()


def test_lucky_draws_count_as_attacked_but_not_as_re_verified() -> None:
    outcomes = [
        outcome("success", fresh_successes=20, fresh_total=20),
        outcome("success", fresh_successes=11, fresh_total=20),
        outcome("success", fresh_successes=10, fresh_total=20),
        outcome("success", fresh_successes=0, fresh_total=20),
        outcome("failed"),
        outcome("skipped"),
    ]
    summary = attack_summary(outcomes, randomised=True)
    assert summary["asr"]["value"] == 4 / 5
    assert summary["asr_verified"]["value"] == 2 / 5
    assert summary["racc"]["value"] == 1 / 6
    assert summary["racc_verified"]["value"] == 3 / 6
    assert summary["fresh_agreement"]["value"] == pytest.approx((1 + 0.55 + 0.5 + 0) / 4)


def test_obstinate_rates_say_that_success_is_an_unchanged_answer() -> None:
    summary = attack_summary(MIXED, goal="obstinate")
    assert "unchanged" in summary["asr"]["meaning"]
    assert "reacted" in summary["racc"]["meaning"]
    assert "unchanged" not in attack_summary(MIXED)["asr"]["meaning"]


def test_nothing_attacked_gives_no_rate_rather_than_a_robust_victim() -> None:
    summary = attack_summary([outcome("not-attackable"), outcome("refused")])
    assert summary["asr"] | {"meaning": ""} == {
        "value": None,
        "count": 0,
        "n": 0,
        "interval": None,
        "meaning": "",
    }
    assert summary["racc"]["value"] is None
    assert summary["sacc"]["value"] == 1.0
    json.dumps(summary, allow_nan=False)
    assert attack_summary([])["sacc"]["value"] is None


@given(st.lists(st.tuples(st.sampled_from(STATUSES), st.integers(0, 20)), max_size=60))
def test_parts_add_up_and_intervals_hold_their_value(drawn: list[tuple[str, int]]) -> None:
    outcomes = [
        outcome(status, fresh_successes=fresh, fresh_total=20) if status == "success" else outcome(status)
        for status, fresh in drawn
    ]
    summary = attack_summary(outcomes, randomised=True)
    assert sum(summary["counts"].values()) == summary["examples"] == len(drawn)
    racc, asr, again = summary["racc"], summary["asr"], summary["asr_verified"]
    assert racc["count"] + asr["count"] + summary["counts"]["skipped"] == racc["n"]
    assert summary["racc_verified"]["count"] + again["count"] == asr["n"] == again["n"]
    assert again["count"] <= asr["count"]
    for name in ("sacc", "racc", "asr", "racc_verified", "asr_verified", "fresh_agreement"):
        one = summary[name]
        if one["interval"]:
            assert one["interval"][0] - 1e-9 <= one["value"] <= one["interval"][1] + 1e-9
