"""Anchored words: ranks of gradient norms, and what ``predict(show="anchored")`` tells of a text."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import unfooled as uf
from tiny_models import TEXTS
from unfooled.errors import UsageError
from unfooled.models import TensorModel, TextModel
from unfooled.predictors import Classifier, Plain, Vote
from unfooled.predictors.anchored import anchored_words
from unfooled.predictors.saliency import between_ranks


def norms(*rows: list[float]) -> Tensor:
    """Gradients with these norms."""
    return torch.tensor(rows).unsqueeze(-1) * torch.tensor([0.6, -0.8])


def test_ranks_ascend_from_the_lower_share_to_below_the_upper() -> None:
    gradient = norms([9, 1, 8, 2, 7, 3, 6, 4, 5, 10])
    everywhere = torch.ones(1, 10, dtype=torch.bool)
    # Ascending: 1 … 10. Ranks ⌈10·0.5⌉ = 5 to ⌈10·0.9⌉ − 1 = 8 are the norms 6, 7, 8, 9.
    chosen = between_ranks(gradient, everywhere, 0.5, 0.9)
    assert gradient.norm(dim=-1)[chosen].tolist() == pytest.approx([9, 8, 7, 6])


def test_only_candidates_are_ranked_and_counted() -> None:
    gradient = norms([50, 1, 2, 3, 4, 60, 70], [50, 8, 60, 70, 80, 90, 95])
    words = torch.tensor([[0, 1, 1, 1, 1, 0, 0], [0, 1, 0, 0, 0, 0, 0]]).bool()
    # First row: four words, ranks 2 and 3. Second: one word, ranks ⌈0.5⌉ = 1 to ⌈0.9⌉ − 1 = 0: none.
    chosen = between_ranks(gradient, words, 0.5, 0.9)
    assert chosen.nonzero().tolist() == [[0, 3], [0, 4]]


@pytest.mark.parametrize(("count", "low", "high", "expected"), [(100, 0.07, 0.14, 7), (2, 0.5, 0.9, 1)])
def test_shares_that_mean_a_whole_number_are_one(count: int, low: float, high: float, expected: int) -> None:
    chosen = between_ranks(torch.rand(1, count, 3), torch.ones(1, count, dtype=torch.bool), low, high)
    assert chosen.sum() == expected


def test_equal_gradients_do_not_depend_on_padding() -> None:
    words = torch.ones(1, 6, dtype=torch.bool)
    longer = torch.cat([words, torch.zeros(1, 5, dtype=torch.bool)], dim=1)
    short, long = (
        between_ranks(torch.zeros(1, n, 2), own, 0.5, 0.9) for n, own in ((6, words), (11, longer))
    )
    assert long[:, :6].tolist() == short.tolist() and not long[:, 6:].any()


@pytest.fixture
def plain(bert: TextModel) -> Classifier:
    return Classifier(bert, Plain(), labels=["bad", "fair", "good"])


def test_anchored_words_are_those_of_the_models_own_answer(bert: TextModel, plain: Classifier) -> None:
    text = TEXTS[2]
    (answer,) = uf.predict(plain, [text], show="anchored")
    (item,) = bert.encode([text])
    batch = bert.batch([item])
    start = bert.start(batch).detach().requires_grad_()
    logits = bert.forward(batch, start=start).logits[0]
    (-logits.log_softmax(-1)[logits.argmax()]).backward()
    assert start.grad is not None
    by_norm = sorted(range(1, len(item) - 1), key=lambda token: start.grad[0, token].norm().item())
    expected = sorted(by_norm[7:13])  # 14 words: ranks ⌈7⌉ to ⌈12.6⌉ − 1
    assert answer.anchored_words == tuple(word for word, _ in item.excerpts(expected))
    assert [text[start:end] for _, start, end in answer.anchored_spans] == list(answer.anchored_words)


def test_a_word_of_several_tokens_is_shown_whole(plain: Classifier) -> None:
    (answer,) = uf.predict(plain, ["an unbelievable film"], show="anchored")
    assert "unbelievable" in answer.anchored_words
    assert set(answer.anchored_words) <= {"an", "unbelievable", "film"}


def test_pairs_refusals_and_every_predictor(bert: TextModel) -> None:
    deployed = Classifier(bert, Vote(sigma=0.5, votes=5), labels=["bad", "fair", "good"])
    answers = uf.predict(deployed, [TEXTS[0], "", TEXTS[3]], [TEXTS[2], TEXTS[2], TEXTS[5]], show="anchored")
    assert answers[1].refused and not answers[1].anchored_words
    assert {which for which, _, _ in answers[2].anchored_spans} == {0, 1}
    again = uf.predict(deployed, [TEXTS[0], TEXTS[3]], [TEXTS[2], TEXTS[5]])
    assert [one.votes for one in again] == [answers[0].votes, answers[2].votes]
    assert not again[0].anchored_words, "only where asked for"
    assert answers.to_frame()["anchored_words"][2] == list(answers[2].anchored_words)


@pytest.mark.parametrize("defence", ["infobert", "infobert+freelb"])
def test_the_ranks_are_those_that_the_run_was_trained_with(bert: TextModel, defence: str) -> None:
    prefix = "" if defence == "infobert" else "infobert."
    settings: dict[str, Any] = {f"{prefix}anchored_from": 0.0, f"{prefix}anchored_to": 0.25}
    own = Classifier(bert, Plain(), labels=["bad", "fair", "good"], defence=defence, settings=settings)
    (answer,) = uf.predict(own, [TEXTS[2]], show="anchored")
    assert len(answer.anchored_words) == 4  # ⌈14·0.25⌉
    (spans,) = anchored_words(bert, bert.encode([TEXTS[2]]), 0.0, 0.25)
    assert list(answer.anchored_spans) == spans


def test_other_inputs_of_a_batch_do_not_matter(any_classifier: TextModel) -> None:
    together = anchored_words(any_classifier, any_classifier.encode(TEXTS))
    alone = [anchored_words(any_classifier, any_classifier.encode([text]))[0] for text in TEXTS]
    assert together == alone
    assert sum(map(len, together)) > len(TEXTS)


def test_what_has_no_gradient_or_is_not_known_is_refused(plain: Classifier) -> None:
    with pytest.raises(UsageError, match="show must be"):
        uf.predict(plain, [TEXTS[0]], show="words")  # type: ignore[arg-type]


def test_inputs_without_words_have_none() -> None:
    linear = Classifier(TensorModel(nn.Linear(2, 2), (2,)), Plain(), labels=["bad", "good"])
    with pytest.raises(UsageError, match=r"reads tensors: leave out show=anchored \(--show anchored\)"):
        uf.predict(linear, torch.eye(2), show="anchored")
