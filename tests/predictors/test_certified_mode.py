"""The deployed mode that keeps a certificate's promise: the smoothed majority, or no answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import norm
from torch import Tensor

from tiny_models import tiny_classifier
from unfooled.api.predict import certified_mode, predict
from unfooled.errors import UsageError
from unfooled.models import TensorModel
from unfooled.predictors import CertifiedMasked, Classifier, Plain, RandomWordMask, Sequential, TwoStep, Vote

NOISY = Vote(sigma=1.0, noise_layers=("embeddings",), masking="none", masked_tokens=0, votes=1)
TEXTS = ["a good film and a warm story", "the bold old war was long and cold", ""]


def half_line(inputs: Tensor) -> Tensor:
    return torch.cat([-inputs, inputs], dim=1)


def half(predictor: Any = NOISY) -> Classifier:
    return Classifier(TensorModel(half_line, (1,)), predictor, labels=["below", "above"])


@pytest.mark.parametrize("error_rate", [0.2, 0.05])
def test_an_answer_misses_the_majority_no_oftener_than_stated(error_rate: float) -> None:
    """The majority at 0.05 is «above», with 52 % of the votes: a single vote misses it in 48 of 100 cases."""
    copies = torch.full((1500, 1), 0.05)
    assert norm.cdf(0.05) < 0.53
    answers = certified_mode(half(), error_rate=error_rate, max_votes=150).predict(copies, seed=None)
    wrong = np.mean([one.label == "below" for one in answers])
    assert 0 < wrong <= error_rate
    assert np.mean([one.abstained for one in answers]) > 0.1
    assert all(one.decided is not one.abstained for one in answers)


def test_clear_cases_are_answered_with_few_votes_and_close_ones_with_more() -> None:
    answers = predict(half(), torch.tensor([[3.0], [-3.0], [0.5], [0.0]]), certified=True)
    assert [one.label for one in answers[:3]] == ["above", "below", "above"]
    cast = [one.forwards for one in answers]
    assert max(cast[:2]) < 40 and cast[3] == 1000 and answers[3].abstained and answers[3].leader


@pytest.mark.parametrize("predictor", [RandomWordMask(kept=0.5), CertifiedMasked(sigma=0.2), NOISY])
def test_texts_are_answered_by_what_their_certificates_are_about(predictor: Any) -> None:
    classifier = Classifier(tiny_classifier("bert", labels=2, seed=3), predictor, labels=["down", "up"])
    answers = predict(classifier, TEXTS, certified=True, error_rate=0.05, max_votes=60)
    assert answers[2].refused and not answers[0].refused
    for one in answers[:2]:
        assert (one.label is None) == one.abstained == (not one.decided)
        assert one.leader in classifier.labels


def test_modes_that_no_certificate_is_about_are_refused() -> None:
    text = tiny_classifier("bert", labels=2)
    loose = [Plain(), TwoStep(), Sequential(), Vote(noise_layers=(0,))]
    loose.append(Vote(noise_layers=("embeddings",), output="mean-logit"))
    for predictor in loose:
        with pytest.raises(UsageError, match="not the majority"):
            predict(Classifier(text, predictor, labels=["down", "up"]), TEXTS, certified=True)
    with pytest.raises(UsageError, match="secret seed"):
        predict(half(), torch.zeros(1, 1), certified=True, seed=7)
    with pytest.raises(UsageError, match="error_rate"):
        predict(half(), torch.zeros(1, 1), certified=True, error_rate=0.0)


def test_copies_of_an_input_draw_their_own_votes() -> None:
    answers = predict(half(), torch.full((20, 1), 0.3), certified=True)
    assert len({str(one.votes) for one in answers}) > 1
