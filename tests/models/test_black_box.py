"""A black box as a model: reads texts, answers them, counts its queries, refuses what is inside a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from unfooled.errors import QueriesSpent, UsageError, UserError
from unfooled.models import BlackBox, Unreadable
from unfooled.predictors import Classifier, Plain, Vote
from unfooled.predictors.smoothing import RandomWordDelete
from unfooled.predictors.smoothing.model_check import ModelCheck

TEXTS = ["a good film", "dull", "a very long story about a film"]


def by_length(inputs: Sequence[tuple[str, ...]]) -> list[list[float]]:
    shares = [min(1.0, sum(map(len, own)) / 40) for own in inputs]
    return [[1 - share, share] for share in shares]


def box(ask: Any = by_length, **more: Any) -> BlackBox:
    return BlackBox(ask, name="box", classes=2, identity={"kind": "test"}, **more)


def scores(model: BlackBox, *texts: str) -> torch.Tensor:
    return model.forward(model.batch(model.encode(texts))).logits


def test_it_answers_in_order_and_reads_what_has_words() -> None:
    model = box()
    assert scores(model, *TEXTS)[:, 1].tolist() == pytest.approx([min(1, len(text) / 40) for text in TEXTS])
    assert scores(model).shape == (0, 2)
    read = model.read(model.inputs(["a film", "  \n", "x" * 2_000_000]))
    assert [isinstance(one, Unreadable) for one in read] == [False, True, True]
    (pair,) = model.read(model.inputs(["first"], ["second"]))
    assert model.forward(model.batch([pair])).logits[0, 1].item() == pytest.approx(11 / 40)
    index = torch.tensor([2, 0, 0])
    rows = model.batch(model.encode(TEXTS), [0, 1, 0]).rows(index)
    assert rows.labels is not None and rows.labels.tolist() == [0, 0, 0]
    assert torch.equal(model.forward(rows).logits, scores(model, *TEXTS)[index])


def test_a_budget_is_never_exceeded_and_the_empty_text_may_have_a_label() -> None:
    asked: list[Any] = []

    def watched(inputs: Sequence[tuple[str, ...]]) -> list[list[float]]:
        asked.extend(inputs)
        return by_length(inputs)

    model = box(watched, max_queries=3, empty=1)
    assert scores(model, "", "a film", " ")[:, 1].tolist() == pytest.approx([1, 6 / 40, 1])
    assert model.queries == 1
    scores(model, "b", "c")
    with pytest.raises(QueriesSpent, match="budget of 3 queries to box"):
        scores(model, "d")
    assert asked == [("a film",), ("b",), ("c",)]


@pytest.mark.parametrize("answer", [[[0.5, 0.5]], [[0.2, 0.3, 0.5]] * 2, []])
def test_every_text_must_get_one_score_per_class(answer: Any) -> None:
    with pytest.raises(UserError, match="one score per class"):
        scores(box(lambda _: answer), "a", "b")


def test_what_is_inside_a_model_is_refused() -> None:
    model = box()
    batch = model.batch(model.encode(TEXTS))
    inside = [
        lambda: model.start(batch),
        lambda: model.gradient(batch),
        lambda: model.coordinates(model.encode(TEXTS)[0]),
        lambda: model.forward(batch, hidden_states=True),
        lambda: model.forward(batch, start=torch.zeros(1)),
        lambda: Classifier(model, Vote(sigma=0.1, noise_layers=("embeddings",)), labels=["a", "b"]),
    ]
    for what in inside:
        with pytest.raises(UsageError, match="box shows only its answers"):
            what()


def test_equal_settings_have_one_identity() -> None:
    made = [Classifier(one, RandomWordDelete(), labels=["a", "b"]) for one in (box(), box(), box(empty=0))]
    assert made[0].identity() == made[1].identity() != made[2].identity()
    assert Classifier(box(), Plain(), labels=["a", "b"]).predict(TEXTS)[2].label == "b"


def test_one_row_of_every_batch_is_asked_again() -> None:
    """Batches of one size, too, which for other models are checked once: what is behind may change."""
    model, lies = box(), False

    def ask(rows: Sequence[int]) -> torch.Tensor:
        found = scores(model, *(TEXTS[row] for row in rows))
        return found.flip(1) if lies else found

    check = ModelCheck(model)
    for lies in (False, False, True):
        if lies:
            with pytest.raises(UsageError, match="box gave a text another answer"):
                check(scores(model, *TEXTS), ask)
        else:
            check(scores(model, *TEXTS), ask)
