"""The last block for the first token alone: same logits and gradients, less work."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from tiny_models import TEXTS, tiny_classifier
from unfooled.models import KeyedNoise, Noise, Site, TextModel
from unfooled.models.first_token import FAMILIES

TESTED = sorted(FAMILIES - {"camembert"})


def without_shortcut(classifier: TextModel) -> TextModel:
    whole = deepcopy(classifier)
    whole.architecture = replace(whole.architecture, first_token_suffices=False)
    return whole


@pytest.mark.parametrize("sites", [(), (0,), (2,), ("embeddings", 1, 2)])
@pytest.mark.parametrize("family", TESTED)
def test_logits_are_those_of_the_whole_block(family: str, sites: tuple[Site, ...]) -> None:
    short = tiny_classifier(family)
    whole = without_shortcut(short)
    assert short.architecture.first_token_suffices
    batch = short.batch(short.encode(TEXTS[:4]))
    copies = [0, 0, 1, 2, 3, 3] if sites else None
    rows = len(copies or batch.ids)
    sampler = KeyedNoise(Noise(0.5, sites), range(rows)) if sites else None
    with torch.no_grad():
        first, second = (
            one.forward(batch, sampler=sampler, sites=sites, copies=copies).logits for one in (short, whole)
        )
    assert first.shape == (rows, 3)
    assert_close(first, second, atol=1e-5, rtol=1e-5)


def test_gradients_are_those_of_the_whole_block() -> None:
    short = tiny_classifier("bert")
    batch = short.batch(short.encode(TEXTS[:4]))
    first, _ = short.gradient(batch)
    second, _ = without_shortcut(short).gradient(batch)
    assert first.abs().max() > 0
    assert_close(first, second, atol=1e-5, rtol=1e-4)


def test_hidden_states_and_training_see_the_whole_block() -> None:
    classifier = tiny_classifier("bert")
    batch = classifier.batch(classifier.encode(TEXTS[:2]))
    with torch.no_grad():
        hidden = classifier.forward(batch, hidden_states=True).hidden
    assert hidden[-1].shape[1] == batch.ids.shape[1]
    assert "forward" not in vars(classifier.architecture.blocks[-1])


@pytest.mark.parametrize("family", ["distilbert", "albert", "mpnet", "deberta-v2", "t5"])
def test_other_families_run_their_own_block(family: str) -> None:
    assert not tiny_classifier(family).architecture.first_token_suffices
