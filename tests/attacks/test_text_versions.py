"""The white-box side of votes over changed texts: what the attacker averages is what the vote draws."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from tiny_models import tiny_classifier, tiny_model
from unfooled.attacks import Asked
from unfooled.attacks.victims.ours import ClassifierVictim
from unfooled.models import TextModel
from unfooled.predictors import Classifier
from unfooled.predictors.plain import Plain
from unfooled.predictors.smoothing import ATTACK, RandomWordDelete, RandomWordMask, SynonymVote
from unfooled.words.word import WORD

LABELS = ("a", "b", "c")
TEXT = "the story is not good"
WORDS = TEXT.split()
SYNONYMS = {"good": ["fine", "great"], "story": ["plot"], "not": ["never"]}


@pytest.fixture(scope="module")
def text() -> Any:
    return tiny_classifier("bert")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = Path(tmp_path_factory.mktemp("tables") / "synonyms.json")
    path.write_text(json.dumps(SYNONYMS), encoding="utf-8")
    return str(path)


def victim(text: Any, predictor: Any) -> ClassifierVictim:
    return ClassifierVictim(Classifier(text, predictor, labels=LABELS))


def probabilities(text: Any, texts: list[str]) -> np.ndarray:
    plain = victim(text, Plain())
    return np.array([answer.scores for answer in plain.answers([Asked((one,), 0) for one in texts])])


def span(word: str) -> tuple[int, int, int]:
    start = TEXT.index(word)
    return 0, start, start + len(word)


def test_mean_over_masks_is_the_mean_over_all_choices_of_shown_words(text: Any) -> None:
    mask = text.tokenizer.mask_token
    shown = [
        " ".join(word if place in kept else mask for place, word in enumerate(WORDS))
        for kept in combinations(range(len(WORDS)), 2)
    ]
    attacked = victim(text, RandomWordMask(kept=2))
    (found,) = attacked.expected([Asked((TEXT,), 7)], draws=800)
    ids = text.tokenizer(shown)["input_ids"]  # by the tokenizer itself: models read no mask in a text
    with torch.inference_mode():
        rows = [text.module(input_ids=torch.tensor([row])).logits.softmax(-1)[0].numpy() for row in ids]
    assert np.allclose(found.scores, np.mean(rows, axis=0), atol=0.02)
    assert np.ptp(rows, axis=0).max() > 0.05, "the versions differ, so the mean says something"
    assert found.forwards == 800


def test_mean_over_deletions_of_a_short_text_is_exact_in_the_limit(text: Any) -> None:
    short, rate = "not good", 0.5
    (found,) = victim(text, RandomWordDelete(rates=(rate,))).expected([Asked((short,), 3)], draws=1200)
    each = probabilities(text, ["not good", "not", "good", ""])
    assert np.allclose(found.scores, each.mean(axis=0), atol=0.02)


def test_mean_over_redrawn_words_is_the_mean_over_the_sets(text: Any, table: str) -> None:
    predictor = SynonymVote(table=table)
    (found,) = victim(text, predictor).expected([Asked(("good story",), 3)], draws=1200)
    options = [predictor.drawn_for(word) for word in ("good", "story")]
    assert min(map(len, options)) > 1
    each = probabilities(text, [f"{first} {second}" for first in options[0] for second in options[1]])
    assert np.allclose(found.scores, each.mean(axis=0), atol=0.02)


@pytest.mark.parametrize("predictor", [RandomWordDelete(rates=(0.0,)), RandomWordMask(kept=100)])
@pytest.mark.parametrize("sentence", [TEXT, "The story is (not good), really/nearly long!"])
def test_where_nothing_is_changed_the_gradient_is_that_of_the_text(
    text: Any, predictor: Any, sentence: str
) -> None:
    (found,) = victim(text, predictor).gradients([(Asked((sentence,), 0), 1)], draws=4)
    (plain,) = victim(text, Plain()).gradients([(Asked((sentence,), 0), 1)], draws=1)
    assert len(found.spans) == 4 * len(plain.spans)
    for match in WORD.finditer(sentence):
        own = plain.of_span(0, *match.span())
        assert np.abs(own).max() > 0
        np.testing.assert_allclose(found.of_span(0, *match.span()), own, atol=1e-6)


@pytest.mark.parametrize("trimmed", [True, False])
def test_a_token_that_begins_at_the_space_belongs_to_its_word(table: str, trimmed: bool) -> None:
    """Byte-level vocabularies write a word with the space before it, and may count that into its place."""
    texts = ["film is a good story", "film is a fine plot", "film is a great plot"]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=trimmed)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=trimmed)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<pad>", "<unk>", "<mask>"]
    trainer = trainers.BpeTrainer(special_tokens=special, min_frequency=1, show_progress=False)
    tokenizer.train_from_iterator(texts * 5, trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", unk_token="<unk>", mask_token="<mask>"
    )
    model = TextModel(tiny_model("bert", fast), fast, max_length=32)
    (encoded,) = model.encode([texts[0]])
    seen = set()
    for predictor in (SynonymVote(table=table), RandomWordDelete(rates=(0.3,)), RandomWordMask(kept=3)):
        sampler = predictor.sampler(model, [encoded], seed=[1], purpose=ATTACK)
        for version in sampler.versions([(0, 0, 20)]):
            for token, (_, start, end) in zip(version.ids, version.offsets, strict=True):
                if end > start:
                    inside = [m[0] for m in WORD.finditer(texts[0]) if m.start() <= start and end <= m.end()]
                    (word,) = inside
                    drawn = predictor.drawn_for(word)
                    assert any(fast.decode([token]).strip() in option for option in drawn)
                    seen.add(word)
    assert seen == set(texts[0].split())


@pytest.mark.parametrize("hidden", ["mask-token", "dropped"])
def test_only_shown_words_have_a_gradient(text: Any, hidden: Any) -> None:
    predictor = RandomWordMask(kept=2, hidden=hidden)
    (found,) = victim(text, predictor).gradients([(Asked((TEXT,), 5), 1)], draws=1)
    moved = [word for word in WORDS if np.abs(found.of_span(*span(word))).max() > 0]
    assert len(moved) == 2
    (encoded,) = text.encode([TEXT])
    sampler = predictor.sampler(text, [encoded], seed=[5], purpose=ATTACK)
    (version,) = sampler.versions([(0, 0, 1)])  # type: ignore[union-attr]
    shown = {TEXT[start:end] for _, start, end in version.offsets if end > start}
    assert shown == set(moved)


def test_words_left_of_a_pair_know_their_text_and_place(text: Any) -> None:
    pair = ("good story", "not  good\tat all")
    (encoded,) = text.encode([pair[0]], [pair[1]])
    sampler = RandomWordDelete(rates=(0.3,)).sampler(text, [encoded], seed=[2], purpose=ATTACK)
    versions = sampler.versions([(0, 0, 40)])  # type: ignore[union-attr]
    seen = set()
    for version in versions:
        tokens = text.tokenizer.convert_ids_to_tokens(version.ids)
        for token, (which, start, end) in zip(tokens, version.offsets, strict=True):
            if end > start:
                assert token.removeprefix("##") == pair[which][start:end]
                seen.add((which, start))
    (whole,) = text.encode([pair[0]], [pair[1]])
    assert seen == {(which, start) for which, start, end in whole.offsets if end > start}


def test_tokens_of_a_redrawn_word_come_from_the_word_that_stood_there(text: Any, table: str) -> None:
    predictor = SynonymVote(table=table)
    sentence = "Good, not bad: a story!"
    (encoded,) = text.encode([sentence])
    sampler = predictor.sampler(text, [encoded], seed=[1], purpose=ATTACK)
    versions = sampler.versions([(0, 0, 60)])  # type: ignore[union-attr]
    drawn = set()
    for version in versions:
        places: dict[tuple[int, int], list[int]] = {}
        for token, (_, start, end) in zip(version.ids, version.offsets, strict=True):
            if end > start:
                places.setdefault((start, end), []).append(token)
        assert " ".join(sentence[start:end] for start, end in places) == "Good , not bad : a story !"
        for (start, end), tokens in places.items():
            options = predictor.drawn_for(sentence[start:end])
            rows = {
                option: text.tokenizer(option, add_special_tokens=False)["input_ids"] for option in options
            }
            (found,) = [option for option, row in rows.items() if row == tokens]
            drawn.add(found)
    assert {"fine", "great", "plot", "never", "bad"} <= drawn


def test_embedding_of_a_redrawn_word_is_the_mean_of_its_set(text: Any, table: str) -> None:
    predictor = SynonymVote(table=table)
    found = victim(text, predictor).embedding(["story", "bad"])
    plain = victim(text, Plain())
    np.testing.assert_allclose(found[0], plain.embedding(["story", "plot"]).mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(found[1], plain.embedding(["bad"])[0], atol=1e-6)


def test_gradient_is_the_slope_of_the_mean_over_the_versions(text: Any) -> None:
    predictor = RandomWordMask(kept=3)
    (found,) = victim(text, predictor).gradients([(Asked((TEXT,), 9), 2)], draws=6)
    (encoded,) = text.encode([TEXT])
    versions = predictor.sampler(text, [encoded], seed=[9], purpose=ATTACK).versions([(0, 0, 6)])  # type: ignore[union-attr]
    batch = text.batch(versions)
    start = text.start(batch).detach()
    moved = torch.randn(start.shape[-1], generator=torch.Generator().manual_seed(1))
    place = span("story")
    rows = torch.tensor([[offset == place for offset in item.offsets] for item in versions])

    def loss(step: float) -> float:
        with torch.no_grad():
            logits = text.forward(batch, start=start + step * rows.unsqueeze(-1) * moved).logits
        return float(-logits.softmax(-1).mean(dim=0)[2].log())

    slope = (loss(1e-3) - loss(-1e-3)) / 2e-3
    assert abs(slope) > 1e-4
    assert float(found.of_span(*place) @ moved.numpy()) == pytest.approx(slope, rel=3e-2)
