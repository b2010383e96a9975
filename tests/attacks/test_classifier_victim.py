"""A classifier as a victim: what the attacker sees is what the deployed predictor does."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tiny_models import TEXTS, tiny_classifier
from unfooled.attacks import Asked, Victim, WhiteBoxVictim
from unfooled.attacks.victims.ours import ClassifierVictim
from unfooled.predictors import Classifier
from unfooled.predictors.plain import Plain
from unfooled.predictors.smoothing import RandomWordDelete, RandomWordMask
from unfooled.predictors.two_step import TwoStep
from unfooled.predictors.vote import Vote

LABELS = ("a", "b", "c")
PREDICTORS = {
    "plain": Plain(),
    "two-step": TwoStep(sigma=0.4, noise_layers=(0,), masked_tokens=2, candidates=4, second_votes=8),
    "vote": Vote(sigma=0.4, noise_layers=("embeddings",), masking="random", masked_tokens=1),
    "random-mask": RandomWordMask(kept=0.5),
    "random-delete": RandomWordDelete(rates=(0.5,)),
}
TEXT = "the story is very long and the ending was not good"


@pytest.fixture(scope="module")
def text():
    return tiny_classifier("bert")


@pytest.fixture(params=PREDICTORS)
def victim(request: pytest.FixtureRequest, text) -> ClassifierVictim:
    return ClassifierVictim(Classifier(text, PREDICTORS[request.param], labels=LABELS))


def two_step(text) -> ClassifierVictim:
    return ClassifierVictim(Classifier(text, PREDICTORS["two-step"], labels=LABELS))


def test_it_is_a_white_box_victim(victim: ClassifierVictim) -> None:
    assert isinstance(victim, Victim)
    assert isinstance(victim, WhiteBoxVictim)


def test_answers_are_the_deployed_decisions(victim: ClassifierVictim) -> None:
    asked = [Asked((text,), key) for key, text in enumerate(TEXTS)]
    encoded = victim.classifier.model.encode(TEXTS)
    decisions = victim.classifier.decide(encoded, seed=[item.key for item in asked])
    for answer, decision in zip(victim.answers(asked), decisions, strict=True):
        assert (answer.label, answer.forwards) == (decision.label, decision.forwards)
        assert answer.scores == pytest.approx(decision.scores, abs=1e-6)


def test_another_key_is_another_draw_for_a_randomised_victim_only(victim: ClassifierVictim) -> None:
    first, second = (victim.answers([Asked((t,), key) for t in TEXTS]) for key in (1, 2))
    assert (first != second) == victim.randomised


def test_answers_do_not_depend_on_what_else_is_asked(victim: ClassifierVictim) -> None:
    asked = [Asked((text,), key) for key, text in enumerate(TEXTS)]
    together = victim.answers(asked)
    alone = [victim.answers([item])[0] for item in asked]
    assert [a.label for a in together] == [a.label for a in alone]
    assert [a.scores for a in together] == [pytest.approx(a.scores, abs=2e-6) for a in alone]


def test_an_empty_text_is_answered(victim: ClassifierVictim) -> None:
    assert victim.answers([Asked(("",), 3), Asked(("dull",), 3)])[0].label in range(3)


def test_expected_scores_are_the_mean_over_many_answers(text) -> None:
    victim = ClassifierVictim(
        Classifier(text, Vote(sigma=0.4, noise_layers=(0,), votes=1, output="mean-logit"), labels=LABELS)
    )
    (mean,) = victim.expected([Asked((TEXT,), 5)], draws=400)
    singles = victim.answers([Asked((TEXT,), key) for key in range(400)])
    observed = np.mean([single.scores for single in singles], axis=0)
    spread = np.std([single.scores for single in singles], axis=0) / 20
    assert (np.abs(np.array(mean.scores) - observed) < 6 * spread + 1e-6).all()
    assert mean.forwards == 400


def test_gradients_are_the_slope_of_the_loss(text) -> None:
    victim = ClassifierVictim(Classifier(text, Plain(), labels=LABELS))
    (found,) = victim.gradients([(Asked((TEXT,), 0), 1)], draws=8)
    (encoded,) = text.encode([TEXT])
    batch = text.batch([encoded])
    embeddings = text.start(batch).detach()
    direction = torch.randn(embeddings.shape, generator=torch.Generator().manual_seed(0))

    def loss(step: float) -> float:
        with torch.no_grad():
            logits = text.forward(batch, start=embeddings + step * direction).logits
        return float(torch.nn.functional.cross_entropy(logits, torch.tensor([1])))

    slope = (loss(1e-3) - loss(-1e-3)) / 2e-3
    assert float((torch.tensor(found.gradient) * direction[0]).sum()) == pytest.approx(slope, rel=2e-2)
    assert found.forwards == 1


def test_hidden_words_get_no_gradient(text) -> None:
    # With M = N every ballot hides the same most salient tokens.
    predictor = TwoStep(sigma=0.3, noise_layers=(1,), masked_tokens=2, candidates=2, second_votes=4)
    victim = ClassifierVictim(Classifier(text, predictor, labels=LABELS))
    asked = Asked((TEXT,), 11)
    (found,) = victim.gradients([(asked, 0)], draws=6)
    (encoded,) = text.encode([TEXT])
    plan, _ = predictor.planned(text, [encoded], [11])
    norms = np.abs(found.gradient).sum(axis=1)
    hidden = plan.ranked[0][:2]
    assert len(hidden) == 2
    assert not norms[hidden].any()
    seen = [row for row in range(len(encoded)) if row not in hidden]
    assert len(seen) == len(encoded) - 2 > 0 and (norms[seen] > 0).all()


def test_gradients_of_many_inputs_are_each_their_own(text) -> None:
    victim = two_step(text)
    asked = [(Asked((t,), key), key % 3) for key, t in enumerate(TEXTS)]
    together = victim.gradients(asked, draws=3)
    for item, one in zip(asked, together, strict=True):
        (alone,) = victim.gradients([item], draws=3)
        np.testing.assert_allclose(one.gradient, alone.gradient, atol=1e-5)
        assert one.spans == alone.spans


def test_gradients_are_taken_in_evaluation_mode(text) -> None:
    victim = ClassifierVictim(Classifier(text, Plain(), labels=LABELS))
    text.module.train()
    first, second = (victim.gradients([(Asked((TEXT,), 0), 1)], draws=1)[0] for _ in range(2))
    assert not text.module.training
    np.testing.assert_array_equal(first.gradient, second.gradient)


def test_embedding_of_a_word_is_the_sum_over_its_tokens(text) -> None:
    victim = two_step(text)
    found = victim.embedding(["film", "xyz"])
    ids = text.tokenizer(["film", "xyz"], add_special_tokens=False)["input_ids"]
    assert [len(row) for row in ids] == [1, 3]
    for vector, row in zip(found, ids, strict=True):
        expected = text.embed(torch.tensor(row)).sum(dim=0).detach().numpy()
        np.testing.assert_allclose(vector, expected, atol=1e-5)


def test_pairs_are_asked_as_pairs(text) -> None:
    victim = two_step(text)
    (pair,) = victim.gradients([(Asked(("a film", "bad plot"), 0), 0)], draws=2)
    assert {which for which, start, end in pair.spans if end > start} == {0, 1}


def test_in_bfloat16_the_confirmed_answers_are_those_of_float32() -> None:
    text = tiny_classifier("bert")
    exact = ClassifierVictim(Classifier(text, PREDICTORS["plain"], labels=LABELS))
    asked = [Asked((one,), key) for key, one in enumerate(TEXTS)]
    expected = exact.answers(asked)
    text.bf16 = True
    rough = ClassifierVictim(Classifier(text, PREDICTORS["plain"], labels=LABELS))
    assert (exact.rough, rough.rough) == (False, True)
    assert rough.answers(asked) != expected
    assert rough.confirmed(asked) == expected
    assert text.bf16
