"""Classifiers whose votes really split."""

from __future__ import annotations

import pytest

from tiny_models import tiny_classifier
from unfooled.models import TextModel
from unfooled.predictors import Classifier, Plain


@pytest.fixture(scope="session")
def two_classes() -> TextModel:
    return tiny_classifier("bert", labels=2, seed=1)


@pytest.fixture
def plain(bert: TextModel) -> Classifier:
    """A deployed classifier with three labels."""
    return Classifier(bert, Plain(), labels=["bad", "fair", "good"])
