"""A forward pass in two parts: what copies of a row share, and the rest after it."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

from tiny_models import TEXTS, tiny_classifier
from unfooled.models import KeyedNoise, Noise, Shared, Site, TextModel

COPIES = [0, 0, 1, 2, 2, 3]
SHARING = ["albert", "bert", "distilbert", "electra", "mpnet", "roberta", "xlm-roberta"]


def noise_at(sites: tuple[Site, ...]) -> KeyedNoise:
    return KeyedNoise(Noise(0.5, sites), range(len(COPIES)))


@pytest.mark.parametrize("sites", [(0,), (1, 2), (2,)])
@pytest.mark.parametrize("family", SHARING)
def test_both_parts_give_the_logits_of_one_pass(family: str, sites: tuple[Site, ...]) -> None:
    classifier = tiny_classifier(family)
    batch = classifier.batch(classifier.encode(TEXTS[:4]))
    with torch.inference_mode():
        whole = classifier.forward(batch, sampler=noise_at(sites), sites=sites, copies=COPIES)
        shared = classifier.shared(batch, sites)
        assert shared is not None
        rest = classifier.after(batch, shared, sampler=noise_at(sites), sites=sites, copies=COPIES)
        other = Shared(shared.states + 1.0, shared.in_tuple)
        changed = classifier.after(batch, other, sampler=noise_at(sites), sites=sites, copies=COPIES)
        again = classifier.forward(batch, sampler=noise_at(sites), sites=sites, copies=COPIES)
    assert_close(rest.logits, whole.logits, atol=1e-5, rtol=1e-5)
    assert_close(again.logits, whole.logits)
    assert len(rest.logits) == len(COPIES)
    if sites[0] != 2:  # a last LayerNorm may take a constant away again
        assert not torch.allclose(changed.logits, whole.logits, atol=1e-4)


def test_the_shared_part_runs_no_block_after_the_first_site(bert: TextModel) -> None:
    batch = bert.batch(bert.encode(TEXTS[:2]))
    ran: list[int] = []
    handles = [
        block.register_forward_pre_hook(lambda *_, own=number: ran.append(own))
        for number, block in enumerate(bert.architecture.blocks)
    ]
    try:
        with torch.inference_mode():
            shared = bert.shared(batch, (1, 2))
    finally:
        for handle in handles:
            handle.remove()
    assert shared is not None and ran == [0, 1]
    assert not any("forward" in vars(block) for block in bert.architecture.blocks)


@pytest.mark.parametrize(("family", "sites"), [("bert", ("embeddings", 1)), ("bert", ()), ("t5", (1,))])
def test_where_copies_have_no_block_in_common_nothing_is_shared(family: str, sites: tuple[Site, ...]) -> None:
    classifier = tiny_classifier(family)
    assert classifier.shared(classifier.batch(classifier.encode(TEXTS[:2])), sites) is None
