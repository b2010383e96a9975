"""random-mask with hidden=dropped: hidden words cost nothing, and the others stay where they were."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tiny_models import TEXTS, tiny_classifier
from unfooled.errors import UsageError
from unfooled.models import Encoded, TextModel
from unfooled.predictors.smoothing import SELECT, RandomWordMask, WordAssembler
from unfooled.predictors.smoothing.vote_labels import answers
from unfooled.statistics.bounds import masked_words

ABSOLUTE = ("bert", "roberta", "xlm-roberta", "distilbert", "electra", "albert")
PAIRS = [("zebra is a good film", "the war of the world"), ("dull", "a zebra")]


def both_ways(
    model: TextModel, texts: list[tuple[str, ...]], seed: int = 0
) -> list[tuple[Encoded, Encoded, list[int]]]:
    """(with mask tokens, dropped, the places that are not hidden words) of a random half of the words."""
    assembler, chance = WordAssembler(model), np.random.default_rng(seed)
    found = []
    for words in assembler.read(texts):
        kept = set(chance.permutation(len(words))[: (len(words) + 1) // 2].tolist())
        masked = assembler.shown(words, kept)
        places = [place for place, token in enumerate(masked.ids) if token != model.mask_token_id]
        found.append((masked, assembler.shown(words, kept, dropped=True), places))
    return found


@pytest.mark.parametrize("family", ABSOLUTE)
@pytest.mark.parametrize("texts", [[(text,) for text in TEXTS], PAIRS], ids=["one text", "pairs"])
def test_the_model_sees_the_shown_tokens_at_the_positions_they_have_among_mask_tokens(
    family: str, texts: list[tuple[str, ...]]
) -> None:
    model = tiny_classifier(family)
    cases = both_ways(model, texts)
    seen: list[torch.Tensor] = []
    table = model.module.base_model.embeddings.position_embeddings
    handle = table.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    with torch.no_grad():
        model.forward(model.batch([masked for masked, _, _ in cases]))
        model.forward(model.batch([dropped for _, dropped, _ in cases]))
    handle.remove()
    numbers, kept_numbers = (own.expand(len(cases), -1) for own in seen)
    hidden = 0
    for row, (masked, dropped, places) in enumerate(cases):
        assert dropped.ids == tuple(masked.ids[place] for place in places)
        assert dropped.type_ids == tuple(masked.type_ids[place] for place in places)
        assert kept_numbers[row, : len(places)].tolist() == numbers[row, places].tolist()
        hidden += len(masked) - len(dropped)
    assert hidden >= len(cases)


@pytest.mark.parametrize("family", ABSOLUTE)
def test_dropping_is_hiding_the_mask_tokens_from_attention(family: str) -> None:
    """The same logits as with mask tokens that no other token may look at."""
    model = tiny_classifier(family)
    cases = both_ways(model, [(text,) for text in TEXTS])
    batch = model.batch([masked for masked, _, _ in cases])
    unseen = replace(batch, mask=batch.mask * (batch.ids != model.mask_token_id))
    with torch.no_grad():
        expected = model.forward(unseen).logits
        found = model.forward(model.batch([dropped for _, dropped, _ in cases])).logits
        closed_up = [replace(dropped, positions=None) for _, dropped, _ in cases]
        assert not torch.allclose(model.forward(model.batch(closed_up)).logits, expected, atol=1e-3)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("family", ["mpnet", "deberta-v2", "t5"])
def test_models_that_measure_distances_between_tokens_are_refused(family: str) -> None:
    model = tiny_classifier(family)
    RandomWordMask().check(model)
    with pytest.raises(UsageError, match=r"hidden=dropped: .*absolute position numbers alone"):
        RandomWordMask(hidden="dropped").check(model)
    (item,) = model.encode(["good"])
    with pytest.raises(UsageError, match="absolute position numbers"):
        model.forward(model.batch([replace(item, positions=tuple(range(len(item))))]))


@pytest.mark.parametrize("text", ["dull film of love and war", "film " * 60, "x" * 30 + " good " * 50])
def test_a_dropped_word_leaves_no_trace(bert: TextModel, text: str) -> None:
    """Replaced by a long word, an unknown sign or nothing readable, long texts included."""
    assembler, chance = WordAssembler(bert), np.random.default_rng(0)
    words = text.split()
    for other in ("q" * 40, "☃", "a", "\u200b", "[MASK]"):
        for changed in chance.integers(0, len(words), 4).tolist():
            tampered = [*words]
            tampered[changed] = other
            original, attacked = assembler.read([(text,), (" ".join(tampered),)])
            order = chance.permutation(len(original))[: len(original) // 2].tolist()
            kept = [number for number in order if number != changed]
            here, there = (assembler.shown(own, kept, dropped=True) for own in (original, attacked))
            assert here == there
            assert here.positions is not None and max(here.positions) < bert.max_length


def test_the_same_word_at_another_place_is_another_question(bert: TextModel) -> None:
    """Equal draws are asked once; the places are a part of what is equal."""
    sampler = RandomWordMask(kept=1, hidden="dropped").sampler(
        bert, bert.encode(["good " * 12]), seed=0, purpose=SELECT
    )
    asked: Counter[tuple[int, ...]] = Counter()
    own = bert.forward

    def spy(batch: Any, **given: Any) -> Any:
        asked.update(tuple(row) for row in batch.positions.tolist())
        return own(batch, **given)

    bert.forward = spy  # type: ignore[method-assign]
    try:
        sampler.counts([(0, 0, 400)])
    finally:
        del bert.forward
    assert asked == {(0, place, 13): 1 for place in range(1, 13)}


def test_no_replacement_inside_the_radius_changes_the_majority() -> None:
    """Every text with as many words over a small vocabulary, with exact shares, for several random models."""
    certified = flipped = 0
    for seed in range(6):
        model = tiny_classifier("bert", labels=2, seed=seed)
        assembler = WordAssembler(model)
        texts = list(itertools.product(("good", "dull", "zebra"), repeat=4))
        subsets = list(itertools.combinations(range(4), 1))
        read = assembler.read([(" ".join(text),) for text in texts])
        drawn = [assembler.shown(words, kept, dropped=True) for words in read for kept in subsets]
        labels = answers(model, drawn).reshape(len(texts), len(subsets))
        shares = dict(zip(texts, labels.mean(axis=1), strict=True))
        for text, other in itertools.product(texts, texts):
            top = max(shares[text], 1 - shares[text])
            label = shares[text] > 0.5
            changed = sum(a != b for a, b in zip(text, other, strict=True))
            now = shares[other] if label else 1 - shares[other]
            if changed and top > 0.5 and changed <= masked_words(float(top), 4, 1):
                certified += 1
                assert now > 0.5, (seed, text, other)
            flipped += top > 0.5 and now <= 0.5
    assert certified > 50 and flipped > 50
