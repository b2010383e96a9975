"""F1 and exact match as SQuAD's official scripts compute them, on cases worked out by hand."""

from __future__ import annotations

import pytest

from unfooled.records.metric import METRICS
from unfooled.records.summaries.squad_score import exact_match, f1, normalised


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("The Broncos!", "broncos"),
        ("  a  Levi's   Stadium. ", "levis stadium"),
        ("An apple, the pear", "apple pear"),
        ("U.S.A.", "usa"),
        ("theatre anthem", "theatre anthem"),
        ("1,000–2,000", "1000–2000"),  # a dash that is no ASCII punctuation stays
        ("ÉCOLE", "école"),
        ("the", ""),
    ],
)
def test_answers_are_normalised_as_the_official_script_does(given: str, expected: str) -> None:
    assert normalised(given) == expected


@pytest.mark.parametrize(
    ("answer", "truth", "em", "score"),
    [
        ("Levi's Stadium", ("levis stadium",), 1, 1),
        ("Stadium", ("Levi's Stadium",), 0, 2 / 3),
        ("Santa Clara, California", ("Santa Clara", "California"), 0, 0.8),  # the best right answer counts
        ("February 7", ("February 7, 2016", "February 7"), 1, 1),
        ("new new york", ("new york",), 0, 0.8),  # a word counts as often as both have it
        ("the", ("cat",), 0, 0),
        ("", ("cat",), 0, 0),
        ("dog", ("cat",), 0, 0),
        ("", (), 1, 1),  # version 2.0: no answer is right
        ("a", (), 1, 1),  # nothing is left of it
        ("cat", (), 0, 0),
        ("cat", ("the", "cat"), 1, 1),  # a right answer of which nothing is left is dropped
        ("", ("the",), 1, 1),
    ],
)
def test_scores_of_hand_made_cases(answer: str, truth: tuple[str, ...], em: float, score: float) -> None:
    assert exact_match(answer, truth) == em
    assert f1(answer, truth) == pytest.approx(score)


def test_an_exact_match_has_f1_one_and_both_are_metrics_of_tasks() -> None:
    assert METRICS.choose("f1").right("The cat", ("cat",))
    assert not METRICS.choose("exact_match").right("cat dog", ("cat",))
