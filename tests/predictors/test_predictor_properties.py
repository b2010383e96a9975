"""What every registered predictor promises for any input and every kind of model that it serves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from model_kinds import KINDS, Kind, images
from unfooled.errors import UsageError
from unfooled.predictors import PREDICTORS, make_predictor
from unfooled.records.decision import Decision

few = settings(max_examples=5)
BOTH = {name: KINDS[name] for name in ("text (bert)", "tensor")}
"""One model per kind; how the families differ is tested with the models."""
MASKED = {name: Kind(name, images) for name in ("image, mask network", "image, static mask")}
"""Models of images with the mask that some predictors need."""
LOUD = {"sigma": 0.8, "noise_layers": ("embeddings",)}


@dataclass(frozen=True)
class Case:
    """A predictor, and how many ballots each of its stages may cast."""

    predictor: Any
    ballots: tuple[Sequence[int], ...] = ()


def case(name: str, *ballots: Sequence[int], **chosen: Any) -> Case:
    return Case(make_predictor(name, chosen), ballots)


CASES = {
    "plain": case("plain"),
    "vote": case("vote", [7], votes=7, **LOUD),
    "vote, mean logit": case("vote", [4], votes=4, output="mean-logit", kind="laplace", **LOUD),
    "vote, salient words masked": case("vote", [5], votes=5, masking="gradient", masked_tokens=2, **LOUD),
    "vote, random words masked": case("vote", [5], votes=5, masking="random", masked_tokens=3, sigma=0.0),
    "two-step": case("two-step", [3], range(6, 9), first_votes=3, second_votes=8, **LOUD),
    "two-step, no mask": case(
        "two-step", [3], range(6, 9), first_votes=3, second_votes=8, masking="none", **LOUD
    ),
    "two-step, sequential": case(
        "two-step", [3], range(1, 13), first_votes=3, second_votes=12, second_stage="sequential", **LOUD
    ),
    "sequential": case("sequential", range(1, 12), max_votes=11, **LOUD),
    "sequential, no mask": case("sequential", range(1, 12), max_votes=11, masking="none", **LOUD),
    "random-mask": case("random-mask", [6], votes=6, kept=0.5),
    "random-delete": case("random-delete", [6], votes=6, rates=[0.5]),
    "safer": case("safer", [6], votes=6),
    "certified-masked": case("certified-masked", [6], votes=6, sigma=0.5, masked_tokens=2),
    "ars": case("ars", [6], votes=6, sigma=0.5),
    "static-mask": case("static-mask", [6], votes=6, sigma=0.5),
}


def serves(one: Case, kind: Kind) -> bool:
    try:
        one.predictor.check(kind.model())
    except UsageError:
        return False
    return True


SERVED = [
    pytest.param(kind, one, id=f"{name}-{label}")
    for name, kind in (BOTH | MASKED).items()
    for label, one in CASES.items()
    if serves(one, kind) and (name in BOTH or not any(serves(one, other) for other in BOTH.values()))
]
every = pytest.mark.parametrize(("kind", "one"), SERVED)


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Synonyms of a few words that the inputs are made of."""
    path = tmp_path_factory.mktemp("synonyms") / "table.json"
    path.write_text(json.dumps({"good": ["fine", "great"], "bad": ["poor"], "film": ["movie"]}))
    return str(path)


def prepared(one: Case, table: str, **changes: Any) -> Any:
    """The predictor, with what it needs from outside."""
    own = {field.name for field in fields(one.predictor)}
    return replace(one.predictor, **({"table": table} if "table" in own else {}), **changes)


def drawn(kind: Kind, data: st.DataObject) -> tuple[list[Any], int]:
    """One or more inputs that the model reads, and a seed."""
    encoded = kind.read(data.draw(kind.inputs, label="inputs"))
    assume(encoded)
    return encoded, data.draw(st.integers(0, 2**31), label="seed")


def same(first: Decision, second: Decision) -> bool:
    return replace(first, scores=()) == replace(second, scores=()) and first.scores == pytest.approx(
        second.scores, abs=1e-4
    )


def test_every_registered_predictor_has_a_case_and_every_kind_is_served() -> None:
    # A plug-in of another test may be registered too.
    ours = {name for name, cls in PREDICTORS.items() if cls.__module__.startswith("unfooled.")}
    assert ours <= {one.predictor.name for one in CASES.values()}
    for name, kind in BOTH.items():
        assert sum(serves(one, kind) for one in CASES.values()) >= 4, name


@every
@few
@given(data=st.data())
def test_order_and_batch_change_nothing(kind: Kind, one: Case, table: str, data: st.DataObject) -> None:
    predictor, model = prepared(one, table), kind.model()
    encoded, seed = drawn(kind, data)
    order = data.draw(st.permutations(range(len(encoded))), label="order")
    together = predictor.decide(model, encoded, seed=seed)
    alone = [predictor.decide(model, [item], seed=seed)[0] for item in encoded]
    shuffled = predictor.decide(model, [encoded[place] for place in order], seed=seed)
    assert len(together) == len(encoded)
    assert all(map(same, together, alone))
    assert all(same(shuffled[place], together[number]) for place, number in enumerate(order))


@every
@few
@given(data=st.data())
def test_votes_add_up_and_scores_sum_to_one(kind: Kind, one: Case, table: str, data: st.DataObject) -> None:
    predictor, model = prepared(one, table), kind.model()
    encoded, seed = drawn(kind, data)
    for item, decision in zip(encoded, predictor.decide(model, encoded, seed=seed), strict=True):
        assert len(decision.scores) == model.num_labels
        assert all(0 <= score <= 1 for score in decision.scores)
        assert sum(decision.scores) == pytest.approx(1)
        assert decision.label == max(range(model.num_labels), key=decision.scores.__getitem__)
        assert decision.stage <= len(one.ballots) and bool(decision.stage) == bool(one.ballots)
        for votes, allowed in zip(decision.votes, one.ballots, strict=False):
            assert len(votes) == model.num_labels and min(votes) >= 0
            assert sum(votes) in allowed
        assert decision.forwards >= max(1, sum(map(sum, decision.votes)))
        if decision.votes and getattr(predictor, "output", "vote") == "vote":
            last = decision.votes[-1]
            assert decision.scores == pytest.approx([count / sum(last) for count in last])
        maskable = getattr(item, "maskable", ())
        assert all(maskable[position] for position in decision.masked)
        assert len(set(decision.masked)) == len(decision.masked) <= getattr(predictor, "masked_tokens", 0)


@every
@few
@given(data=st.data(), below=st.sampled_from([0.5, 0.8, 1.0]), error_rate=st.sampled_from([0.05, 0.3]))
def test_abstention_follows_from_votes_and_scores(
    kind: Kind, one: Case, table: str, data: st.DataObject, below: float, error_rate: float
) -> None:
    bold, model = prepared(one, table), kind.model()
    encoded, seed = drawn(kind, data)
    decided = bold.decide(model, encoded, seed=seed)
    # A predictor with an error rate of its own abstains where its vote is not decided; others only if asked.
    assert all(decision.abstained == (decision.decided is False) for decision in decided)
    if "abstain_below" not in {field.name for field in fields(bold)}:
        return
    for decision in prepared(one, table, abstain_below=below).decide(model, encoded, seed=seed):
        assert decision.abstained == (max(decision.scores) < below)
    careful = prepared(one, table, abstain_error_rate=error_rate).decide(model, encoded, seed=seed)
    for decision in careful:
        votes = decision.votes[-1]
        leader = votes[decision.label]
        second = max(count for label, count in enumerate(votes) if label != decision.label)
        close = leader <= second or binomtest(leader, leader + second, 0.5).pvalue > error_rate
        assert decision.abstained == close
