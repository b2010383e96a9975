"""Tiny classifiers shared by all tests; read-only: a test that trains one builds its own."""

from __future__ import annotations

import os

# Before torch is loaded, and for the commands that tests start: tiny tensors gain nothing from more
# threads, and lose much where test processes share the cores.
os.environ["OMP_NUM_THREADS"] = "1"

import hypothesis
import pytest
import torch

from tiny_models import FAMILIES, tiny_classifier
from unfooled.models import TextClassifier

torch.set_num_threads(1)

# A busy machine is not a failure.
hypothesis.settings.register_profile("unfooled", deadline=None)
hypothesis.settings.load_profile("unfooled")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest file first, so that no worker is left alone with it at the end."""
    items.sort(key=lambda item: item.path.name != "test_readme.py")


@pytest.fixture(scope="session", params=FAMILIES)
def any_classifier(request: pytest.FixtureRequest) -> TextClassifier:
    """A tiny classifier of each encoder family in turn."""
    return tiny_classifier(request.param)


@pytest.fixture(scope="session")
def bert() -> TextClassifier:
    """A tiny BERT with three classes."""
    return tiny_classifier("bert")


@pytest.fixture(scope="session")
def t5() -> TextClassifier:
    """A tiny T5 with three classes: encoder and decoder read the same text."""
    return tiny_classifier("t5")
