"""Certified accuracy, average radius and abstentions from certificates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from unfooled.records.certificate import Certificate
from unfooled.records.summaries.certificate_summary import certificate_summary
from unfooled.statistics.intervals import wilson


def certificate(radius: float | None, correct: bool | None = True, **changes: Any) -> Certificate:
    status = "abstained" if radius is None else "certified"
    return Certificate(
        row=0,
        status=status,
        threat="l2",
        radius=radius or 0.0,
        radii={"gaussian": radius or 0.0, "renyi": (radius or 0.0) / 2},
        correct=correct if radius is not None or correct is None else False,
        samples=100,
        unit="embedding distance",
        **changes,
    )


FOUND = [certificate(1.0), certificate(0.5), certificate(2.0, False), certificate(None), certificate(0.0)]


def test_wrong_and_abstaining_inputs_count_against_certified_accuracy() -> None:
    refused = Certificate(9, "refused", "l2", message="empty")
    summary = certificate_summary([*FOUND, refused])
    assert summary["counts"] == {"certified": 4, "abstained": 1, "refused": 1}
    assert summary["certified_accuracy"]["count"] == 3 and summary["certified_accuracy"]["n"] == 5
    assert summary["certified_accuracy"]["interval"] == list(wilson(3, 5))
    assert summary["average_radius"]["value"] == pytest.approx(1.5 / 5)
    assert summary["by_bound"] == {"gaussian": pytest.approx(0.3), "renyi": pytest.approx(0.15)}
    assert summary["abstention"]["value"] == 0.2 and summary["samples"]["value"] == 100


def test_the_curve_falls_from_certified_accuracy_to_the_largest_radius() -> None:
    curve = certificate_summary(FOUND)["curve"]
    assert curve[0]["radius"] == 0 and curve[0]["count"] == 3
    assert curve[-1]["radius"] == 1.0 and curve[-1]["count"] == 1  # a wrong answer's radius is no part of it
    assert [point["value"] for point in curve] == sorted((p["value"] for p in curve), reverse=True)
    words = certificate_summary([replace(one, unit="words", radius=2) for one in FOUND[:2]])["curve"]
    assert [point["radius"] for point in words] == [0, 1, 2]


def test_without_labels_shares_stand_for_accuracies() -> None:
    summary = certificate_summary([certificate(1.0, None), certificate(None, None)])
    assert summary["labelled"] is False and summary["certified_accuracy"]["value"] == 0.5


def test_antonyms_stand_beside_certified_accuracy() -> None:
    found = [
        certificate(1.0, antonyms_inside=2, antonyms_considered=3),
        certificate(1.0, antonyms_inside=0, antonyms_considered=4),
        certificate(1.0, antonyms_inside=0, antonyms_considered=0),
    ]
    obstinacy = certificate_summary(found)["obstinacy"]
    assert (obstinacy["texts"]["count"], obstinacy["texts"]["n"]) == (1, 2)
    assert (obstinacy["antonyms_inside"], obstinacy["antonyms_considered"]) == (2, 7)
    assert "obstinacy" not in certificate_summary(FOUND)


def test_a_question_is_counted_by_its_answers() -> None:
    found = [
        certificate(0.5, answer="yes", asked_radius=0.5),
        certificate(0.5, False, answer="yes", asked_radius=0.5),
        certificate(None, answer="no", asked_radius=0.5),
    ]
    asked = certificate_summary(found)["asked"]
    assert (asked["radius"], asked["count"], asked["n"]) == (0.5, 1, 3)


def test_nothing_to_summarise() -> None:
    summary = certificate_summary([])
    assert summary["certified_accuracy"]["value"] is None and summary["curve"][0]["value"] is None


def test_a_certificate_survives_the_journal() -> None:
    import json

    one = certificate(1.0, texts=("a good film",), antonym_examples=(("good", "bad"),))
    assert Certificate.from_dict(json.loads(json.dumps(one.to_dict()))) == one
