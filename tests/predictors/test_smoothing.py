"""Smoothed predictors: numbered draws, words hidden without a trace, looks averaged as claimed."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tiny_models import TEXTS, t5_tokenizer, tiny_classifier, tiny_model
from unfooled.errors import UsageError, UserError
from unfooled.models import TextModel
from unfooled.predictors import CertifiedMasked, RandomWordMask, SynonymVote, Vote
from unfooled.predictors.smoothing import (
    ESTIMATE,
    SELECT,
    EmbeddingNoise,
    WordAssembler,
    masked_average,
    resampled,
)
from unfooled.predictors.smoothing.certified_masked import behind_mask
from unfooled.predictors.smoothing.streams import BLOCK, NoiseWords, generator, single, stream_key
from unfooled.predictors.smoothing.unit_noise import fill, words_per_draw
from unfooled.predictors.smoothing.vote_labels import RememberedAnswers, labels_of
from unfooled.statistics.noise_budget import masked_noise, split_noise

SYNONYMS = {"film": ["movie", "story"], "good": ["fine", "great", "lovely"], "bad": ["poor"], "war": ["love"]}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("table") / "synonyms.json"
    path.write_text(json.dumps(SYNONYMS))
    return str(path)


@pytest.fixture(
    params=[
        "gaussian",
        "laplace",
        "block too",
        "certified-masked",
        "each-word",
        "random-mask",
        "dropped",
        "safer",
    ]
)
def transformation(request: pytest.FixtureRequest, table: str) -> Any:
    return {
        "gaussian": EmbeddingNoise(1.0),
        "laplace": EmbeddingNoise(0.7, "laplace"),
        "block too": EmbeddingNoise(0.5, "gaussian", (1,)),
        "certified-masked": CertifiedMasked(sigma=0.8, masked_tokens=2),
        "each-word": CertifiedMasked(sigma=0.8, masked_tokens=3, threat="each-word"),
        "random-mask": RandomWordMask(kept=0.4),
        "dropped": RandomWordMask(kept=0.4, hidden="dropped"),
        "safer": SynonymVote(table=table),
    }[request.param]


def test_draws_do_not_depend_on_company_or_on_how_they_are_asked_for(
    bert: TextModel, transformation: Any
) -> None:
    texts = [*TEXTS, "a good film", "bad war"]
    encoded = bert.encode(texts)
    sampler = transformation.sampler(bert, encoded, seed=3, purpose=ESTIMATE)
    whole = sampler.counts([(owner, 0, 50) for owner in range(len(texts))])
    assert any(np.count_nonzero(counts) > 1 for counts in whole)
    for owner, item in enumerate(encoded):
        alone = transformation.sampler(bert, [item], seed=3, purpose=ESTIMATE)
        parts = alone.counts([(0, 0, 1), (0, 1, BLOCK), (0, BLOCK + 1, 2), (0, BLOCK + 3, 50 - BLOCK - 3)])
        np.testing.assert_array_equal(sum(parts), whole[owner])


def test_purposes_and_seeds_have_draws_of_their_own(bert: TextModel, transformation: Any) -> None:
    encoded = bert.encode(["a good film of the war", "the story is good but the ending was bad"])

    def drawn(seed: int, purpose: str) -> list[list[int]]:
        sampler = transformation.sampler(bert, encoded, seed=seed, purpose=purpose)
        return [c.tolist() for c in sampler.counts([(o, d, 1) for o in (0, 1) for d in range(40)])]

    first = drawn(0, SELECT)
    assert first == drawn(0, SELECT)
    if first != [first[0]] * 40 + [first[40]] * 40:  # some text's votes are split
        assert first != drawn(0, ESTIMATE) and first != drawn(1, SELECT)


def test_no_two_blocks_share_a_number() -> None:
    seen = set()
    for key, block in itertools.product(
        [stream_key(seed, purpose, (7, 8)) for seed in (0, 1) for purpose in (SELECT, ESTIMATE)], range(50)
    ):
        numbers = generator(key, block).integers(0, 2**63, 64).tolist()
        assert seen.isdisjoint(numbers)
        seen.update(numbers)


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
@pytest.mark.parametrize("values", [1, 7, 64, 20_000])
def test_a_draw_of_noise_depends_on_its_key_and_number_alone(kind: Any, values: int) -> None:
    stream = NoiseWords()
    whole = np.empty((40, values), dtype=np.float32)
    fill(whole, stream, 2**128 - 5, 0, kind)
    for first, count in [(3, 1), (0, 17), (39, 1), (20, 20)]:
        room = np.empty(count * values + 3, dtype=np.float32)[3:]  # elsewhere in memory
        part = room.reshape(count, values)
        fill(part, NoiseWords() if count % 2 else stream, 2**128 - 5, first, kind)
        np.testing.assert_array_equal(part, whole[first : first + count])


def test_no_two_draws_of_noise_share_a_word_nor_one_with_the_streams_of_blocks() -> None:
    stream, seen, width = NoiseWords(), set[int](), words_per_draw(36, "gaussian")
    for key, draw in itertools.product([1, 2, 2**64, stream_key(0, SELECT, (7, 8))], range(60)):
        stream.move(key, draw * (width // 4))
        words = stream.read(1, width).ravel().tolist()
        if draw % 20 == 0:
            words += np.random.Philox(key=key, counter=[0, 0, draw // 20, 0]).random_raw(64).tolist()
        assert len(set(words)) == len(words) and seen.isdisjoint(words)
        seen.update(words)


class _Given(NoiseWords):
    """Words that a test chooses."""

    def __init__(self, words: list[int]) -> None:
        self._words = np.array([words], dtype=np.uint64)

    def move(self, key: int, counter: int) -> None: ...

    def read(self, draws: int, words: int) -> Any:
        return self._words.copy()


def test_noise_is_finite_and_reaches_far_for_the_rarest_words() -> None:
    high, least, most = 2**64 - 1, 0, (2**40 - 1) << 24
    for kind, furthest in (("gaussian", 7.539), ("laplace", 28.42)):
        out = np.empty((1, 8), dtype=np.float32)
        words = [least, high, most, 2**24 - 1, 1 << 23, 1, 2**63, 5]
        fill(out, _Given(words[: words_per_draw(8, kind)]), 0, 0, kind)  # type: ignore[arg-type]
        assert np.isfinite(out).all() and np.abs(out).max() == pytest.approx(furthest, rel=1e-3)


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_noise_has_the_stated_distribution(kind: Any) -> None:
    """Of a million numbers: the whole distribution, both tails, and no relation of neighbours or draws."""
    from scipy import stats

    law = stats.norm if kind == "gaussian" else stats.laplace
    drawn = np.empty((1000, 1001), dtype=np.float32)
    fill(drawn, NoiseWords(), stream_key(1, ESTIMATE, "noise"), 0, kind)
    assert stats.kstest(drawn.ravel().astype(np.float64), law.cdf).pvalue > 1e-3
    for level in (1e-2, 1e-3, 1e-4, 1e-5):
        for tail in ((drawn > law.isf(level)).sum(), (drawn < law.ppf(level)).sum()):
            expected = drawn.size * level
            assert abs(int(tail) - expected) < 4.5 * np.sqrt(expected) + 1
    halves = drawn[:, :500], drawn[:, 501:1001]  # of one word: its cosine and its sine
    pairs = [(drawn[:-1], drawn[1:]), (drawn[:, :-1], drawn[:, 1:]), halves]
    for first, second in pairs:
        for power in (1, 2):
            related = np.corrcoef(np.abs(first.ravel()) ** power, np.abs(second.ravel()) ** power)[0, 1]
            assert abs(related) < 4.5 / np.sqrt(first.size)
        assert abs(np.corrcoef(first.ravel(), second.ravel())[0, 1]) < 4.5 / np.sqrt(first.size)


def test_words_are_put_together_as_the_tokenizer_would(any_classifier: TextModel) -> None:
    assembler = WordAssembler(any_classifier)
    for pairs in (None, TEXTS[::-1]):
        expected = any_classifier.encode(list(TEXTS), pairs)
        texts = [(text,) for text in TEXTS] if pairs is None else list(zip(TEXTS, pairs, strict=True))
        for words, item in zip(assembler.read(texts), expected, strict=True):
            shown = assembler.shown(words, range(len(words)))
            assert (shown.ids, shown.type_ids) == (item.ids, item.type_ids)


@pytest.mark.parametrize("text", ["dull film of love and war", "film " * 60, "x" * 30 + " good " * 50])
def test_a_hidden_word_leaves_no_trace(bert: TextModel, text: str) -> None:
    """Replaced by a long word, an unknown sign or nothing readable, long texts included."""
    assembler = WordAssembler(bert)
    rng = np.random.default_rng(0)
    words = text.split()
    for other in ("q" * 40, "☃", "a", "\u200b", "[MASK]"):
        for changed in rng.integers(0, len(words), 4).tolist():
            tampered = [*words]
            tampered[changed] = other
            original, attacked = assembler.read([(text,), (" ".join(tampered),)])
            assert len(original) == len(attacked)
            kept = [n for n in rng.permutation(len(original))[: len(original) // 2].tolist() if n != changed]
            assert assembler.shown(original, kept) == assembler.shown(attacked, kept)
            assert len(assembler.shown(attacked, kept)) <= bert.max_length


def test_kept_is_a_share_or_a_number(bert: TextModel) -> None:
    assert [RandomWordMask(kept=0.3).kept_words(total) for total in (1, 2, 10, 0)] == [1, 1, 3, 0]
    assert [RandomWordMask(kept=4).kept_words(total) for total in (1, 4, 10)] == [1, 4, 4]
    sampler = RandomWordMask(kept=2).sampler(bert, bert.encode(TEXTS[:1]), seed=0, purpose=SELECT)
    assert sampler.total == [5] and sampler.kept == [2]
    with pytest.raises(UsageError, match=r"whole number of words, got 2\.5"):
        RandomWordMask(kept=2.5).check(bert)
    tokenizer = t5_tokenizer(sentinel=False)
    without_mask = TextModel(tiny_model("t5", tokenizer), tokenizer)
    with pytest.raises(UsageError, match="no mask token"):
        RandomWordMask().check(without_mask)


def test_every_subset_of_words_is_drawn_equally_often(
    bert: TextModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, ...]] = []
    sampler = RandomWordMask(kept=2).sampler(bert, bert.encode(["bold old cold war"]), seed=0, purpose=SELECT)
    own = RememberedAnswers.labels

    def spy(self: RememberedAnswers, draws: Any, *given: Any) -> Any:
        seen.extend(tuple(np.frombuffer(shown, dtype=np.int64).tolist()) for _, shown in draws)
        return own(self, draws, *given)

    monkeypatch.setattr(RememberedAnswers, "labels", spy)
    sampler.counts([(0, 0, 3000)])
    counts = [seen.count(pair) for pair in itertools.combinations(range(4), 2)]
    assert sum(counts) == 3000 and min(counts) > 420 and max(counts) < 580


def test_words_are_redrawn_from_their_sets_and_all_else_stays(table: str) -> None:
    substitutes = SynonymVote(table=table).substitutes()
    rng = np.random.default_rng(0)
    seen = {
        resampled("A GOOD film, (bad!) Zebra", substitutes, lambda n: int(rng.integers(n)))
        for _ in range(500)
    }
    assert len(seen) == 4 * 3 * 2
    assert all(text.startswith("A ") and text.endswith("!) Zebra") for text in seen)


def test_average_of_two_looks_has_the_stated_noise(bert: TextModel) -> None:
    """Unmasked positions: x + N(0, σ²). Masked ones: the mask embedding, whatever the noise."""
    (item,) = bert.encode(["the story is good"])
    batch = bert.batch([item] * 400)
    clean = bert.start(batch).detach()
    generator_ = torch.Generator().manual_seed(0)
    noise = torch.randn(400, 2, *clean.shape[1:], generator=generator_)
    predictor = CertifiedMasked(sigma=0.5, sigma_1=0.8, masked_tokens=2)
    first, second = predictor.sigmas
    assert first**-2 + second**-2 == pytest.approx(0.5**-2)
    average = masked_average(
        bert, batch, clean, noise=noise, sigmas=predictor.sigmas, masked_tokens=2
    ).detach()
    mask = bert.embed(torch.tensor([[bert.mask_token_id]]))[0, 0].detach()
    masked = (average == mask).all(dim=-1)
    assert masked.sum(dim=1).tolist() == [2] * 400
    assert not masked[:, 0].any() and not masked[:, -1].any()  # special tokens are never masked
    assert len({tuple(row.nonzero().flatten().tolist()) for row in masked}) > 1  # each draw has its own
    error = (average - clean)[~masked]
    assert float(error.std()) == pytest.approx(0.5, rel=0.03)


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_the_mask_is_computed_from_the_very_look_that_is_averaged(
    precision: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounded twice, the two would be different looks, and the noise would pay for one of them only."""
    model = tiny_classifier("bert", labels=2)
    model.module.to(precision)
    own, seen = model.gradient, []

    def spy(batch: Any, **given: Any) -> Any:
        start = given.get("start")
        if start is None:
            start = model.start(batch)
            start = start + given["sampler"]("embeddings", start, batch.mask)
        seen.append(start.detach())
        return own(batch, **given)

    monkeypatch.setattr(model, "gradient", spy)
    batch = model.batch(model.encode(["the story is good"]) * 50)
    clean = model.start(batch).detach().float()
    noise = torch.randn(50, 2, *clean.shape[1:], generator=torch.Generator().manual_seed(0))
    average = masked_average(model, batch, clean, noise=noise, sigmas=(0.5, 0.5), masked_tokens=1)
    mask = model.embed(torch.tensor([[model.mask_token_id]]))[0, 0].detach().float()
    shown = ~(average == mask).all(dim=-1)
    (look,) = seen
    assert look.dtype == precision and shown.sum() == 50 * (len(batch.ids[0]) - 1)
    assert torch.equal(average[shown], (0.5 * look.float() + 0.5 * (clean + 0.5 * noise[:, 1]))[shown])


@pytest.mark.parametrize("masked_tokens", [1, 3, 4])
def test_a_look_behind_a_mask_has_the_noise_that_every_word_by_a_little_needs(
    bert: TextModel, masked_tokens: int
) -> None:
    """Special tokens are noised alike, but do not count; with all words hidden there is nothing to blur."""
    (item,) = bert.encode(["the story is good"])
    batch = bert.batch([item] * 400)
    clean = bert.start(batch).detach()
    noise = torch.randn(400, 2, *clean.shape[1:], generator=torch.Generator().manual_seed(0))
    first, second = CertifiedMasked(sigma=0.5, sigma_1=0.8).sigmas

    def averaged(**threat: Any) -> torch.Tensor:
        return masked_average(
            bert, batch, clean, noise=noise, sigmas=(first, second), masked_tokens=masked_tokens, **threat
        ).detach()

    average = averaged(threat="each-word")
    mask = bert.embed(torch.tensor([[bert.mask_token_id]]))[0, 0].detach()
    masked = (average == mask).all(dim=-1)
    assert torch.equal(masked, (averaged() == mask).all(dim=-1))  # the same mask
    error = (average - clean)[~masked]
    if masked_tokens == 4:
        assert not error.any()
        return
    shown = masked_noise(second, 4, masked_tokens)
    assert float(error.std()) == pytest.approx((first**-2 + shown**-2) ** -0.5, rel=0.03)
    assert float(error.std()) < 0.48  # less than σ


def test_the_looks_never_have_less_noise_than_the_bounds_ask_for() -> None:
    rng = np.random.default_rng(0)
    for sigma, more in rng.uniform([1e-3, 1.001], [2.0, 5.0], (200, 2)):
        first, second = CertifiedMasked(sigma=sigma, sigma_1=sigma * more).sigmas
        asked = split_noise(sigma, sigma * more)
        assert first == sigma * more and second == asked
        words = int(rng.integers(1, 60))
        hidden = int(rng.integers(0, words))
        shown = behind_mask(second, words, hidden)
        assert second * np.sqrt((words - hidden) / words) <= shown == np.float32(shown)
        assert shown == pytest.approx(masked_noise(second, words, hidden), rel=3e-7)
    assert behind_mask(0.5, 3, 3) == behind_mask(0.5, 0, 0) == 0.0


def test_single_precision_is_rounded_up_and_hardly() -> None:
    for value in np.random.default_rng(1).uniform(0.001, 3, 500).tolist():
        assert value <= single(value) == float(np.float32(single(value))) <= value * (1 + 2.0**-23)
    assert single(0.25) == 0.25


def test_scores_that_are_no_rows_of_classes_are_refused() -> None:
    for shape in ((4,), (4, 1), (4, 2, 2)):
        with pytest.raises(UsageError, match=str(shape).replace("(", r"\(").replace(")", r"\)")):
            labels_of(torch.zeros(shape))


def test_the_mask_depends_on_the_first_look_alone(bert: TextModel) -> None:
    (item,) = bert.encode(["the story is very long and the ending was not good"])
    batch = bert.batch([item] * 20)
    clean = bert.start(batch).detach()
    noise = torch.randn(20, 2, *clean.shape[1:], generator=torch.Generator().manual_seed(1))
    other = noise.clone()
    other[:, 1] = torch.randn(noise[:, 1].shape, generator=torch.Generator().manual_seed(2))
    mask = bert.embed(torch.tensor([[bert.mask_token_id]]))[0, 0].detach()
    first, second = (
        (
            masked_average(bert, batch, clean, noise=n, sigmas=(1.0, 1.0), masked_tokens=3).detach() == mask
        ).all(dim=-1)
        for n in (noise, other)
    )
    assert torch.equal(first, second)


def test_settings_that_cannot_work_are_refused(bert: TextModel) -> None:
    with pytest.raises(UsageError, match=r"sigma_1 is 0\.1 but must be above sigma, 0\.1"):
        CertifiedMasked(sigma=0.1, sigma_1=0.1).check(bert)
    with pytest.raises(UsageError, match="sigma must be above 0"):
        CertifiedMasked(sigma=0).check(bert)


def test_scores_that_are_not_finite_are_refused() -> None:
    broken = tiny_classifier("bert", labels=2)
    with torch.no_grad():
        broken.module.classifier.bias[0] = float("nan")
    for predictor in (RandomWordMask(), CertifiedMasked()):
        with pytest.raises(UserError, match="not a finite number"):
            predictor.decide(broken, broken.encode(["a good film"]))


def test_laplace_votes_differ_from_gaussian_ones_and_are_saved(bert: TextModel) -> None:
    gaussian, laplace = (
        Vote(sigma=1.0, noise_layers=("embeddings",), votes=200, kind=kind)  # type: ignore[arg-type]
        for kind in ("gaussian", "laplace")
    )
    encoded = bert.encode(list(TEXTS))
    votes = [[d.votes for d in p.decide(bert, encoded)] for p in (gaussian, laplace)]
    assert votes[0] != votes[1]
    assert laplace.describe()["kind"] == "laplace"
