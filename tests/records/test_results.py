"""Results show themselves: a few lines, a frame with a row per input, HTML in which nothing runs."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import unfooled as uf
from tiny_attacks import LABELS, Swap, scores
from tiny_models import tiny_classifier
from unfooled.predictors import Classifier, Vote
from unfooled.records.results.documents import BenchmarkReport, RepresentReport, SweepReport, WrittenReport
from unfooled.records.results.result import Result
from unfooled.statistics.drift import drift
from unfooled.statistics.spread import spread

HOSTILE = "so fine <script>alert('x')</script> <img src=x onerror=alert(1)> \x1b[31m&"
TEXTS = [HOSTILE, "so dull", "so awful\nand flat", "a lovely film"]
TRUTH = ["up", "down", "down", "up"]


class Tags(HTMLParser):
    """The elements of a fragment, and whether all that are opened are closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)
        self.open.append(tag)
        assert all(name == "style" for name, _ in attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def classifier() -> Classifier:
    vote = Vote(sigma=0.3, noise_layers=("embeddings",), votes=5)
    return Classifier(tiny_classifier("bert", labels=2, seed=3), vote, labels=["down", "up"])


@pytest.fixture(scope="module")
def results(classifier: Classifier, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    """One result of every kind, with a text that would be a script."""
    labelled = uf.Inputs(texts=TEXTS, labels=TRUTH)
    victim = uf.as_victim(scores, labels=list(LABELS))
    layers = [[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [0.5, 1.0]]]
    import numpy as np

    clean, moved = [np.array(layer) for layer in layers], [np.array(layer) + 0.5 for layer in layers]
    rate = {**spread([0.9]), "interval": [0.8, 0.95]}
    run = {"dev_accuracy": 0.9, "folder": HOSTILE, "seed": 0, "status": "trained"}
    return {
        "predictions": uf.predict(classifier, [*TEXTS, ""]),
        "attack": uf.attack(victim, labelled, recipe=Swap(), tools=uf.Tools(validity=False)),
        "certificates": uf.certify(
            classifier, labelled, sampling=uf.Sampling(n=100), reading=uf.Reading(antonyms=False)
        ),
        "repeat": uf.repeat(classifier, labelled, repeats=3),
        "represent": RepresentReport(
            {
                "run": HOSTILE,
                "state": "first token",
                "layers": ["embeddings", "block 1"],
                "drift": [{"attack": HOSTILE, **drift(clean, moved)}],
                "without_successes": ["pwws"],
            }
        ),
        "sweep": SweepReport(
            {
                "source": HOSTILE,
                "runs": {"trained": 1, "reused": 0, "failed": 0, "pending": 1},
                "rows": [
                    {
                        "settings": {"sigma": 0.1},
                        "best": True,
                        "status": "finished",
                        "dev": spread([0.9]),
                        "test": spread([0.8]),
                        "dev_interval": [0.8, 0.95],
                        "test_interval": None,
                        "runs": [run],
                    },
                    {"settings": {"sigma": 0.2}, "best": False, "status": "pending", "runs": [run]},
                ],
            }
        ),
        "benchmark": BenchmarkReport(
            {
                "name": HOSTILE,
                "out": "runs/x",
                "counts": {"done": 1},
                "cells": [{"name": "a", "status": "done"}, {"name": HOSTILE, "status": "failed"}],
                "rows": [
                    {
                        "task": "reviews",
                        "defence": "rsmi",
                        "clean": {"accuracy": rate, "inputs": 20},
                        "attacks": {"pwws": {"racc": rate}, "a2t": {"racc": None}},
                        "certificates": {},
                        "repeated": None,
                    }
                ],
                "report": None,
            }
        ),
        "report": WrittenReport(
            Path("report.html"),
            ({"name": HOSTILE, "accuracy": 0.9, "accuracy_interval": [0.8, 0.95], "examples": 20},),
        ),
    }


KINDS = ["predictions", "attack", "certificates", "repeat", "represent", "sweep", "benchmark", "report"]


@pytest.mark.parametrize("kind", KINDS)
def test_repr_is_a_few_printable_lines_and_no_dictionary(results: dict[str, Result], kind: str) -> None:
    lines = repr(results[kind]).splitlines()
    assert 2 <= len(lines) <= 20
    assert lines[0] == results[kind].headline().replace("\x1b", "�")
    assert "{" not in repr(results[kind])
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize("kind", KINDS)
def test_html_shows_everything_and_runs_nothing(results: dict[str, Result], kind: str) -> None:
    tags = Tags(results[kind]._repr_html_())
    assert set(tags.found) <= {"p", "b", "table", "thead", "tbody", "tr", "th", "td"}
    assert results[kind].headline() in tags.text
    for name, value in results[kind].facts():
        assert name in tags.text and value in tags.text
    if kind not in ("attack", "repeat"):
        assert "<script>" in tags.text, "the hostile text is there, as text"


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        ("predictions", 5),
        ("attack", 4),
        ("certificates", 4),
        ("repeat", 4),
        ("represent", 2),
        ("sweep", 2),
        ("benchmark", 1),
        ("report", 1),
    ],
)
def test_frame_has_a_row_per_input(results: dict[str, Result], kind: str, rows: int) -> None:
    frame = results[kind].to_frame()
    assert len(frame) == rows and len(frame.columns) >= 4


def test_numbers_come_with_intervals_and_say_on_how_many_inputs(results: dict[str, Any]) -> None:
    attacked = results["attack"]
    sacc = attacked.summary["sacc"]
    low, high = sacc["interval"]
    shown = (
        f"{100 * sacc['value']:.1f} % ({100 * low:.1f} to {100 * high:.1f}), {sacc['count']} of {sacc['n']}"
    )
    assert f"accuracy before        {shown}" in repr(attacked)
    assert "4 inputs of texts" in repr(attacked)
    certified = results["certificates"]
    n = certified.summary["certified_accuracy"]["n"]
    assert f"of {n}" in repr(certified) and n == 4
    assert f"{len(TEXTS)} inputs" in repr(results["repeat"])


def test_frames_hold_what_the_results_hold(results: dict[str, Any]) -> None:
    predicted = results["predictions"].to_frame()
    assert list(predicted["text"][:4]) == TEXTS and predicted["refused"][4] == "the text is empty"
    attacked = results["attack"].to_frame()
    assert list(attacked["status"]) == [one.status for one in results["attack"].outcomes]
    assert "success" in set(attacked["status"])
    certified = results["certificates"].to_frame()
    assert list(certified["radius"]) == [one.radius for one in results["certificates"]]
    repeated = results["repeat"].to_frame()
    assert list(repeated["label"]) == TRUTH
    counts = repeated.filter(like="answers_").fillna(0).sum(axis=1)
    assert list(counts) == [3] * 4


def test_many_predictions_are_cut_and_say_so(classifier: Classifier) -> None:
    many = uf.predict(classifier, [f"film {number}" for number in range(25)])
    assert len(repr(many).splitlines()) == 12 and "not shown below  15" in repr(many)
    assert len(many.to_frame()) == 25 and len(many[20:]) == 5
    assert repr(uf.predict(classifier, [])) == "0 predictions"


def test_documents_read_like_dictionaries(results: dict[str, Any]) -> None:
    made = results["sweep"]
    assert made["rows"][0]["best"] and set(made) == set(made.to_dict()) and dict(made) == made.to_dict()
    assert made == made.to_dict()


def test_a_classifier_says_what_it_is(classifier: Classifier) -> None:
    hostile = Classifier(
        classifier.model,
        classifier.predictor,
        labels=[HOSTILE, "up"],
        task={"name": HOSTILE, "kind": "single"},
    )
    lines = repr(hostile).splitlines()
    assert len(lines) == 4 and all(line.isprintable() for line in lines)
    assert "Vote(" in lines[1] and "'up'" in lines[2]
    html = hostile._repr_html_()
    assert "<script" not in html and "<img" not in html and "&lt;script&gt;" in html
