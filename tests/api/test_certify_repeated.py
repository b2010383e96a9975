"""Certifying again with more draws until it works is peeking: it is marked, also in another result set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tiny_models import tiny_classifier
from unfooled.api.certify import certify
from unfooled.certificates.sampling import Reading, Sampling
from unfooled.predictors import Classifier, RandomWordMask

TEXTS = ["a good film and a warm story", "the bold old war"]


@pytest.fixture(scope="module")
def masked() -> Classifier:
    model = tiny_classifier("bert", labels=2, seed=3)
    return Classifier(model, RandomWordMask(kept=0.5), labels=["down", "up"])


def marks(classifier: Classifier, out: Path, *, texts: list[str] = TEXTS, **given: Any) -> list[bool]:
    seed = given.pop("seed", 0)
    report = certify(
        classifier,
        texts,
        threat="words",
        sampling=Sampling(n0=10, **given),
        reading=Reading(antonyms=False),
        seed=seed,
        out=out / f"{seed}-{given}-{len(texts[1])}",
    )
    assert all(("with fewer draws" in one.message) == one.repeated for one in report)
    return [one.repeated for one in report]


@pytest.mark.parametrize("seed", [0, None])
def test_more_draws_for_the_same_input_are_marked(
    masked: Classifier, tmp_path: Path, seed: int | None
) -> None:
    assert marks(masked, tmp_path, n=50, seed=seed) == [False, False]
    assert marks(masked, tmp_path, n=50, seed=seed) == [False, False]  # the same run, gone on with
    assert marks(masked, tmp_path, n=90, seed=seed) == [True, True]
    assert marks(masked, tmp_path, n=90, seed=seed, texts=[TEXTS[0], "a dull plot"]) == [True, False]
    assert marks(masked, tmp_path, n=50, seed=seed) == [False, False]
    assert marks(masked, tmp_path, n=90, seed=seed, alpha=0.05) == [False, False]  # another statement


def test_an_adaptive_run_may_go_on_but_not_start_again(masked: Classifier, tmp_path: Path) -> None:
    assert marks(masked, tmp_path, n=50, adaptive=True) == [False, False]
    assert marks(masked, tmp_path, n=90, adaptive=True) == [False, False]
    assert marks(masked, tmp_path, n=120, adaptive=True, seed=1) == [True, True]
