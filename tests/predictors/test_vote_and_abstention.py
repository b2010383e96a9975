"""One-stage votes, the ablations of RSMI's paper, and when a vote says «not sure»."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from scipy.stats import binomtest

from tiny_models import TEXTS, sentences
from unfooled.models import Batch, TextModel
from unfooled.predictors import Plain, TwoStep, Vote
from unfooled.predictors.tally import abstains, count_votes, scores_of, too_close


def test_plain_is_the_softmax_of_one_forward_pass(bert: TextModel) -> None:
    with torch.no_grad():
        expected = bert.forward(bert.batch(bert.encode(TEXTS))).logits.softmax(dim=-1)
    decisions = Plain().decide(bert, bert.encode(TEXTS))
    assert len({decision.label for decision in decisions}) > 1
    for decision, row in zip(decisions, expected, strict=True):
        assert decision.scores == pytest.approx(row.tolist(), abs=1e-5)
        assert decision.label == int(row.argmax())
        assert (decision.votes, decision.stage, decision.forwards, decision.masked) == ((), 0, 1, ())


def test_gradient_masking_is_one_pass_over_the_masked_text(bert: TextModel) -> None:
    gm = Vote(sigma=0, noise_layers=(), masking="gradient", votes=1, masked_tokens=2, output="mean-logit")
    encoded = bert.encode(TEXTS)
    for item, decision in zip(encoded, gm.decide(bert, encoded), strict=True):
        masked = item.with_masked(decision.masked, bert.mask_token_id)
        with torch.no_grad():
            expected = bert.forward(bert.batch([masked])).logits[0].softmax(dim=-1)
        assert decision.scores == pytest.approx(expected.tolist(), abs=1e-5)
        assert decision.forwards == 2


def test_random_masking_reads_k_differently_masked_texts(
    bert: TextModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: list[Batch] = []
    forward = TextModel.forward
    monkeypatch.setattr(
        TextModel,
        "forward",
        lambda self, batch, **options: (batches.append(batch), forward(self, batch, **options))[1],
    )
    rm = Vote(sigma=0, noise_layers=(), masking="random", votes=20, masked_tokens=3)
    (decision,) = rm.decide(bert, bert.encode([TEXTS[2]]))
    rows = torch.cat([batch.ids for batch in batches])
    assert sum(decision.votes[0]) == decision.forwards == 20
    assert ((rows == bert.mask_token_id).sum(dim=1) == 3).all()
    assert len({tuple(row.tolist()) for row in rows}) > 10


def test_the_noisy_vote_counts_k_votes(two_classes: TextModel) -> None:
    decisions = Vote(sigma=1.2, votes=9).decide(two_classes, two_classes.encode(sentences(12)))
    assert all(sum(decision.votes[0]) == decision.forwards == 9 for decision in decisions)
    assert any(0 < decision.votes[0][0] < 9 for decision in decisions), "some votes must split"
    for decision in decisions:
        assert decision.scores == tuple(count / 9 for count in decision.votes[0])


def test_vote_shares_and_mean_logits() -> None:
    logits = [[4.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.5, 0.4]]
    assert count_votes(logits) == (1, 2, 0)
    assert scores_of(logits, "vote") == (1 / 3, 2 / 3, 0.0)
    means = torch.tensor(logits).mean(dim=0)
    assert scores_of(logits, "mean-logit") == pytest.approx(means.softmax(dim=-1).tolist())
    assert scores_of([[1000.0, -1000.0]], "mean-logit") == (1.0, 0.0)


@pytest.mark.parametrize("error_rate", [0.001, 0.05, 0.3])
def test_abstention_is_cohens_test_of_leader_against_runner_up(error_rate: float) -> None:
    outcomes = set()
    for votes in product(range(0, 13, 2), repeat=3):
        leader = votes.index(max(votes))
        first, second, _ = sorted(votes, reverse=True)
        tied = first == second
        expected = tied or binomtest(first, first + second, 0.5).pvalue > error_rate
        assert too_close(votes, leader, error_rate) == expected
        outcomes.add(expected)
    assert outcomes == {True, False}


def test_a_label_that_did_not_win_the_vote_is_never_significant() -> None:
    """Mean logits may name another class than the votes: its significance is not the winner's."""
    assert not too_close((10, 0), 0, 0.05)
    assert too_close((10, 0), 1, 0.05)
    assert abstains((10, 0), (0.4, 0.6), below=0.0, error_rate=0.05)


def test_a_leading_score_below_the_threshold_abstains() -> None:
    assert abstains((6, 4), (0.6, 0.4), below=0.61, error_rate=None)
    assert not abstains((6, 4), (0.6, 0.4), below=0.6, error_rate=None)
    assert not abstains((6, 4), (0.6, 0.4), below=0.0, error_rate=None)


@pytest.mark.parametrize("kind", [Vote, TwoStep])
def test_predictors_abstain_below_the_asked_share(two_classes: TextModel, kind: type) -> None:
    predictor = kind(sigma=1.2, noise_layers=(0,), abstain_below=0.8)
    decisions = predictor.decide(two_classes, two_classes.encode(sentences(20)))
    assert [d.abstained for d in decisions] == [max(d.scores) < 0.8 for d in decisions]
    assert {d.abstained for d in decisions} == {True, False}
