"""The task's metric decides what is right, everywhere."""

from __future__ import annotations

import pytest

from unfooled.attacks.goals import make_goal
from unfooled.attacks.victim import Answer
from unfooled.data.task import Task
from unfooled.records.certificate import Certificate
from unfooled.records.metric import ACCURACY, METRICS, Metric
from unfooled.statistics.intervals import mean_interval, wilson
from unfooled.statistics.metrics import classification_metrics
from unfooled.statistics.spread import ABSTAINED, repeat_statistics

# Answers next to the truth are half right, as neighbouring stars of a review might be.
NEAR = Metric("nearness", lambda answer, truth: max(0.0, 1 - abs(int(answer) - int(truth)) / 2))  # type: ignore[call-overload]


@pytest.fixture
def near(monkeypatch: pytest.MonkeyPatch) -> Metric:
    monkeypatch.setitem(METRICS, NEAR.name, NEAR)
    return NEAR


def test_a_classification_task_scores_one_or_nothing(near: Metric) -> None:
    task = Task("t", "", "single", ("a", "b", "c"), 16)
    assert (task.metric, task.score(1, 1), task.score(1, 2)) == ("accuracy", 1.0, 0.0)
    other = Task("t", "", "single", ("a", "b", "c"), 16, metric="nearness")
    assert [other.score(answer, 0) for answer in (0, 1, 2)] == [1.0, 0.5, 0.0]


def test_metrics_are_means_of_the_score_and_abstentions_score_nothing() -> None:
    truth, answers = [0, 1, 2, 2], [0, 2, 2, 2]
    plain = classification_metrics(truth, answers, ["a", "b", "c"])
    assert plain["accuracy"] == 0.75 and plain["accuracy_interval"] == list(wilson(3, 4))
    found = classification_metrics(
        truth,
        answers,
        ["a", "b", "c"],
        abstained=[False, False, False, True],
        metric=NEAR.name,
        score=NEAR.score,
    )
    assert found["nearness"] == pytest.approx((1 + 0.5 + 1 + 0) / 4) and found["metric"] == "nearness"
    low, high = found["nearness_interval"]
    assert 0 <= low < found["nearness"] < high <= 1
    repeated = repeat_statistics([0, 1], [[0, 2], [1, ABSTAINED]], ["a", "b", "c"], score=NEAR.score)
    assert repeated["accuracies"] == [0.75, 0.25]


def test_intervals_of_scores_cover_the_mean_and_shrink() -> None:
    assert mean_interval([1, 0, 1, 1]) == wilson(3, 4)
    assert mean_interval([]) == (0.0, 1.0) and mean_interval([0.5]) == (0.0, 1.0)
    few, many = mean_interval([0.25, 0.5, 0.75]), mean_interval([0.25, 0.5, 0.75] * 20)
    assert few[0] < many[0] < 0.5 < many[1] < few[1]


def test_an_attack_succeeds_and_a_certificate_is_right_by_the_metric() -> None:
    loose = Metric("loose", lambda answer, truth: float(answer == truth or answer == 1))
    wrong, allowed = (Answer(scores=(0.1, 0.2, 0.7), label=label) for label in (2, 1))
    strict, lenient = (make_goal("fickle", truth=0, original=0, metric=one) for one in (ACCURACY, loose))
    assert strict.reached(wrong) and strict.reached(allowed)
    assert lenient.reached(wrong) and not lenient.reached(allowed)
    made = Certificate(0, "certified", "l2", label="b")
    assert made.with_truth("a").correct is False
    assert made.with_truth("a", Metric("loose", lambda answer, truth: 1.0)).correct is True
