"""Repeated evaluation by worker processes: the repeats of this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from tiny_attacks import write_examples
from tiny_models import tiny_classifier
from unfooled.api.load import save
from unfooled.api.repeat import repeat
from unfooled.data.inputs import Inputs
from unfooled.errors import UsageError
from unfooled.predictors import Classifier, Vote

NOISY = Vote(sigma=0.5, votes=3, noise_layers=("embeddings",))


def classifier() -> Classifier:
    return Classifier(tiny_classifier("bert", labels=2, seed=3), NOISY, labels=["down", "up"])


@pytest.mark.full
def test_two_processes_measure_what_this_process_measures(tmp_path: Path) -> None:
    save(classifier(), tmp_path / "run")
    inputs = Inputs(data=str(write_examples(tmp_path / "examples.csv", 20)))
    alone, shared = (
        repeat(
            tmp_path / "run", inputs, repeats=6, device="cpu", out=tmp_path / f"{workers}", workers=workers
        )
        for workers in (1, 2)
    )
    assert alone.summary["accuracy"]["std"] > 0, "the noise is seen"
    assert shared.summary == alone.summary


def test_a_classifier_that_is_nowhere_saved_cannot_be_shared(tmp_path: Path) -> None:
    inputs = Inputs(data=str(write_examples(tmp_path / "examples.csv", 20)))
    with pytest.raises(UsageError, match=r"only in this process\. Save it"):
        repeat(classifier(), inputs, repeats=2, workers=2)
