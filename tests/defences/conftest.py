"""One tiny classifier and one labelled batch for the tests of what a training step does."""

from __future__ import annotations

import pytest

from tiny_models import TEXTS, tiny_classifier
from tiny_training import ANTONYMS, LABELS
from unfooled.defences.parts import bat_copies
from unfooled.models import Batch, TextModel


@pytest.fixture(scope="module")
def classifier() -> TextModel:
    return tiny_classifier("bert")


@pytest.fixture
def batch(classifier: TextModel) -> Batch:
    return classifier.batch(classifier.encode(TEXTS), LABELS)


@pytest.fixture(autouse=True)
def few_antonyms(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of a few words in place of WordNet's, except where WordNet is what is tested."""
    if "wordnet" not in request.node.name:
        monkeypatch.setattr(bat_copies, "antonyms", lambda word: ANTONYMS.get(word, ()))
