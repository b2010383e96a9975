"""A2T: which texts an epoch's attack takes, what it appends, and what it says when it finds nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch

from tiny_attacks import Stubborn
from tiny_models import FAMILIES, TEXTS, balanced, tiny_classifier
from tiny_training import TASK
from unfooled.attacks import RECIPES, Example, Limits, make_recipe, run_attacks
from unfooled.attacks.victims.ours import ClassifierVictim
from unfooled.defences import Training, TrainingData, make_defence
from unfooled.defences.a2t_training import A2TSession, A2TTraining
from unfooled.defences.parts.adversarial import attack_counts, counts_in_words
from unfooled.errors import UsageError, UserError
from unfooled.lexicon.tagger import Tag
from unfooled.models import TextModel
from unfooled.predictors import Classifier, Plain
from unfooled.records.outcome import Outcome
from unfooled.words.document import Document

pytestmark = pytest.mark.usefixtures("swap_recipe")
PAIRS = tuple(reversed(TEXTS))


def answers(model: TextModel, texts: Sequence[tuple[str, ...]]) -> list[int]:
    """What the model says, asked by hand."""
    pairs = [own[1] for own in texts] if len(texts[0]) == 2 else None
    batch = model.batch(model.encode([own[0] for own in texts], pairs))
    with torch.no_grad():
        return [int(label) for label in model.forward(batch).logits.argmax(dim=-1)]


def training_data(model: TextModel, pairs: bool = False) -> TrainingData:
    """The texts with the model's own answers for labels, but for the first two, on which it is wrong."""
    texts = list(zip(TEXTS, PAIRS, strict=True)) if pairs else [(text,) for text in TEXTS]
    labels = [label if row > 1 else 1 - label for row, label in enumerate(answers(model, texts))]
    return TrainingData(model.encode(TEXTS, PAIRS if pairs else None), labels)


def session(model: TextModel, data: TrainingData, epochs: float = 4, **settings: Any) -> A2TSession:
    defence = make_defence("a2t", {"recipe": "swap", "share": 1, **settings}).resolved(model)
    assert isinstance(defence, A2TTraining)
    return defence.begin(Training(model, data, TASK, seed=0, steps=10, epochs=epochs))


def added(made: TrainingData | None, data: TrainingData) -> list[tuple[tuple[str, ...], int]]:
    """The texts and labels after the data, which must stand unchanged before them."""
    assert made is not None
    count = len(data)
    assert list(made.encoded[:count]) == list(data.encoded)
    assert list(made.labels[:count]) == list(data.labels)
    texts = [item.texts for item in made.encoded[count:]]  # type: ignore[attr-defined]
    return list(zip(texts, made.labels[count:], strict=True))


def swapped(model: TextModel, texts: tuple[str, ...], label: int) -> tuple[str, ...] | None:
    """What the recipe swap must find, word after word by hand; None if nothing."""
    if answers(model, [texts]) != [label]:
        return None
    document = Document.of(*texts)
    for number in range(len(document)):
        document = document.replace(number, "thing")
        if answers(model, [document.texts]) != [label]:
            return document.texts
    return None


@pytest.mark.parametrize("pairs", [False, True], ids=["texts", "pairs"])
@pytest.mark.parametrize("family", FAMILIES)
def test_exactly_the_successes_are_appended_with_the_label_of_their_original(
    family: str, pairs: bool
) -> None:
    model = balanced(tiny_classifier(family, labels=2), TEXTS, PAIRS if pairs else None)
    data = training_data(model, pairs)
    one = session(model, data)
    made = added(one.on_epoch(1, data), data)
    rows = zip([item.texts for item in data.encoded], data.labels, strict=True)  # type: ignore[attr-defined]
    expected = [(found, label) for texts, label in rows if (found := swapped(model, texts, label))]
    assert expected, "the attack finds something, or this test proves nothing"
    assert sorted(made) == sorted(expected)
    assert one.figures() == {
        "epochs": {
            "2": {
                "sampled": len(TEXTS),
                "misclassified": 2,
                "unchangeable": 0,
                "attacked": len(TEXTS) - 2,
                "errors": 0,
                "successes": len(expected),
                "appended": len(expected),
            }
        }
    }
    assert one.warnings() == []


@pytest.fixture(scope="module")
def model() -> TextModel:
    return balanced(tiny_classifier("bert", labels=2), TEXTS)


@pytest.fixture(scope="module")
def data(model: TextModel) -> TrainingData:
    return training_data(model)


@pytest.mark.parametrize(("clean", "whole_from"), [(0, 0.0), (1, 0.25), (3, 0.75), (4, 0.0), (9, 0.0)])
def test_an_epoch_without_attack_is_not_kept(
    clean: int, whole_from: float, model: TextModel, data: TrainingData
) -> None:
    """Where no epoch is attacked, which is a warning, the best one is kept as in plain training."""
    assert session(model, data, epochs=4, clean_epochs=clean).whole_from == whole_from
    assert session(model, data, epochs=4, clean_epochs=clean, share=0).whole_from == 0


def test_clean_epochs_are_left_as_they_are(model: TextModel, data: TrainingData) -> None:
    one = session(model, data, clean_epochs=2)
    assert one.on_epoch(0, data) is None
    assert one.on_epoch(1, data) is None
    assert added(one.on_epoch(2, data), data)
    assert added(session(model, data, clean_epochs=0).on_epoch(0, data), data)


def test_a_share_of_the_texts_is_drawn_anew_in_every_epoch(model: TextModel, data: TrainingData) -> None:
    def sampled(one: A2TSession, epoch: int) -> list[int]:
        return [outcome.row for outcome in one._outcomes(epoch, data)]

    one = session(model, data, share=0.5)
    drawn = [sampled(one, epoch) for epoch in range(6)]
    assert [len(set(rows)) for rows in drawn] == [4] * 6
    assert len({tuple(rows) for rows in drawn}) > 1
    assert sampled(session(model, data, share=0.5), 3) == drawn[3], "a resumed training draws the same"
    assert len(sampled(session(model, data, share=0.3), 0)) == 3, "2.4 is rounded up"
    assert sampled(session(model, data, share=0), 0) == []


def test_the_attack_is_on_the_weights_of_the_moment(data: TrainingData) -> None:
    own = balanced(tiny_classifier("bert", labels=2), TEXTS)
    one = session(own, data)
    before = added(one.on_epoch(1, data), data)
    with torch.no_grad():
        own.module.classifier.weight.neg_()
        own.module.classifier.bias.neg_()
    after = added(one.on_epoch(1, data), data)
    assert {label for _, label in before} != {label for _, label in after} or before != after
    turned = [1 - label for label in data.labels]
    assert added(
        session(own, data).on_epoch(1, replace(data, labels=turned)), replace(data, labels=turned)
    ) == [(texts, 1 - label) for texts, label in before]


def test_it_leaves_no_gradients_behind(model: TextModel, data: TrainingData) -> None:
    session(model, data).on_epoch(1, data)
    assert all(weight.grad is None for weight in model.module.parameters())


def test_counted_by_successes_it_goes_on_until_there_are_enough(
    model: TextModel, data: TrainingData, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unfooled.defences.a2t_training.LEAST_AT_ONCE", 1)
    every = added(session(model, data).on_epoch(1, data), data)
    assert len(every) > 2
    one = session(model, data, share=0.25, counted="successes")
    assert added(one.on_epoch(1, data), data) == every[:2]
    sampled = one.figures()["epochs"]["2"]["sampled"]
    assert 2 <= sampled < len(data)
    monkeypatch.setattr("unfooled.defences.a2t_training.LEAST_AT_ONCE", 64)
    assert added(session(model, data, share=0.25, counted="successes").on_epoch(1, data), data) == every[:2]
    short = session(model, data, counted="successes")
    assert added(short.on_epoch(1, data), data) == every, "all texts are attacked, and there are no more"


def test_nothing_found_is_told_and_trains_on(model: TextModel, data: TrainingData) -> None:
    wrong = replace(data, labels=[1 - label for label in answers(model, [(text,) for text in TEXTS])])
    one = session(model, wrong)
    assert added(one.on_epoch(1, wrong), wrong) == []
    (told,) = one.warnings()
    assert "found no adversarial example in epoch 2 (of 8 training texts 8 already misclassified):" in told
    again = session(model, wrong)
    again.load_state_dict(one.state_dict())
    assert (again.warnings(), again.figures()) == (one.warnings(), one.figures()), "a checkpoint keeps it"


def test_texts_of_which_nothing_could_be_tried_do_not_count_as_attacked() -> None:
    def outcome(status: Any, tried: bool | None = None) -> Outcome:
        return Outcome(0, status, ("a film",), 0, tried=tried)

    counts = attack_counts(
        [outcome("failed", True), outcome("failed", False), outcome("not-attackable"), outcome("skipped")]
    )
    assert counts_in_words(counts) == (
        "of 4 training texts 1 attacked, 1 already misclassified, 2 without a word that the recipe may change"
    )
    assert counts_in_words({}) == "of 0 training texts none was attacked"


def test_an_attack_that_breaks_on_every_text_ends_training_with_its_message(
    model: TextModel, data: TrainingData, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: object, attempt: object) -> None:
        raise ValueError("boom")

    monkeypatch.setattr(RECIPES["swap"], "search", broken)
    right = replace(data, labels=answers(model, [(text,) for text in TEXTS]))
    with pytest.raises(UserError, match=r"broke on every text. The first: ValueError: boom"):
        session(model, right).on_epoch(1, right)


def test_a_training_of_clean_epochs_alone_is_told_before_it_begins(
    model: TextModel, data: TrainingData
) -> None:
    (told,) = session(model, data, epochs=1).warnings()
    assert "attacks after 1 clean epoch, and training has 1" in told
    assert session(model, data, epochs=1.5).warnings() == []


def test_progress_is_told_text_by_text(model: TextModel, data: TrainingData) -> None:
    seen: list[tuple[str, int, int]] = []
    one = session(model, data)
    one.training = replace(one.training, watch=lambda *told: seen.append(told))
    one.on_epoch(1, data)
    assert [told[1:] for told in seen] == [(done, len(data)) for done in range(len(data) + 1)]
    assert seen[0][0] == "epoch 2: swap on training texts"


def test_in_bfloat16_every_success_is_one_in_float32(data: TrainingData) -> None:
    own = balanced(tiny_classifier("bert", labels=2), TEXTS)
    own.bf16 = True
    made = added(session(own, data).on_epoch(1, data), data)
    assert made
    with own.in_float32():
        for texts, label in made:
            assert answers(own, [texts]) != [label]


def _one_tag(texts: Sequence[str]) -> list[tuple[Tag, ...]]:
    return [tuple(Tag(start, end, "NOUN") for _, start, end in Document.of(text).spans) for text in texts]


class _Neighbours:
    def neighbours(self, word: str, count: int, min_cosine: float) -> tuple[tuple[str, float], ...]:
        return tuple((near, 0.9) for near in ("awful", "gorgeous", "war", "flat") if near != word)[:count]


@pytest.mark.parametrize("family", ["bert", "t5", "deberta-v2"])
def test_its_own_recipe_ranks_by_the_gradient_of_the_model_in_training(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unfooled.attacks.parts.candidates.load_vectors", lambda name: _Neighbours())
    monkeypatch.setattr(
        "unfooled.lexicon.tagger.load_tagger", lambda: type("T", (), {"tags": staticmethod(_one_tag)})
    )
    monkeypatch.setattr("unfooled.attacks.tools._similarity", lambda *_: lambda pairs: [0.95] * len(pairs))
    model = balanced(tiny_classifier(family, labels=2), TEXTS, PAIRS)
    data = training_data(model, pairs=True)
    one = session(model, data, recipe="a2t")
    made = added(one.on_epoch(1, data), data)
    assert made
    services = one._services
    assert {"victim", "gradients", "tags", "similarity"} <= set(services)
    victim = ClassifierVictim(Classifier(model, Plain(), labels=TASK.labels))
    examples = [Example(row, item.texts, data.labels[row]) for row, item in enumerate(data.encoded)]  # type: ignore[attr-defined]
    own = {**services, "victim": victim.answers, "gradients": victim.gradients}
    outcomes = run_attacks(examples, make_recipe("a2t"), own, limits=Limits())
    assert sorted(texts for texts, _ in made) == sorted(
        one.perturbed for one in outcomes if one.status == "success" and one.perturbed
    )


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"share": 1.5}, "share must be at most 1, got 1.5"),
        ({"share": -0.1}, "share must be at least 0"),
        ({"clean_epochs": -1}, "clean_epochs must be at least 0"),
        ({"counted": "all"}, "counted must be one of 'attacked', 'successes'"),
        ({"recipe": "swapp"}, "no recipe 'swapp'. Did you mean 'swap'"),
        ({"recipe": "swap", "recipe_settings": {"candidates": 3}}, "swap has no setting 'candidates'"),
        ({"recipe_settings": {"min_cosine": 2}}, "min_cosine must be at most 1"),
    ],
)
@pytest.mark.parametrize("name", ["a2t", "advaug"])
def test_wrong_settings_are_refused(name: str, settings: dict[str, Any], said: str) -> None:
    if name == "advaug" and not set(settings) <= {"recipe", "recipe_settings"}:
        settings, said = {"sample": 0}, "sample must be at least 1, got 0"
    with pytest.raises(UsageError, match=said):
        make_defence(name, settings)


@pytest.mark.parametrize("name", ["a2t", "advaug"])
def test_a_recipe_that_changes_the_meaning_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RECIPES, "stubborn", Stubborn)
    for recipe in ("stubborn", "antonym"):
        with pytest.raises(UsageError, match=f"recipe {recipe}: it changes what a text means"):
            make_defence(name, {"recipe": recipe})
