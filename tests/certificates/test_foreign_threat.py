"""A threat that another package adds by name is never certified by a bound made for something else."""

from __future__ import annotations

import pytest

from unfooled.certificates.smoothing import choose_smoothing
from unfooled.certificates.threats import TEXT, Threat
from unfooled.errors import UsageError
from unfooled.models import TextModel
from unfooled.predictors import Classifier, Vote


def test_threat_without_a_bound_is_refused(bert: TextModel, monkeypatch: pytest.MonkeyPatch) -> None:
    threat = Threat("typos", "letters", "every text with at most {r} letter{s} changed", "Not covered: more.")
    monkeypatch.setitem(TEXT, "typos", threat)
    classifier = Classifier(bert, Vote(sigma=0.5, noise_layers=("embeddings",)), labels=("a", "b", "c"))
    assert choose_smoothing(classifier, "l2").threat == "l2"
    with pytest.raises(UsageError, match=r"'typos' is known by name only.*nothing is certified"):
        choose_smoothing(classifier, "typos")
