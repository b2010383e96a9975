"""One tiny classifier and one labelled batch for the tests of what a training step does."""

from __future__ import annotations

import pytest

from tiny_models import TEXTS, tiny_classifier
from tiny_training import LABELS
from unfooled.models import Batch, TextModel


@pytest.fixture(scope="module")
def classifier() -> TextModel:
    return tiny_classifier("bert")


@pytest.fixture
def batch(classifier: TextModel) -> Batch:
    return classifier.batch(classifier.encode(TEXTS), LABELS)
