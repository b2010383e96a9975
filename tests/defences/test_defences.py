"""What every defence promises: a loss that can be trained on, and a predictor that can be deployed."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import torch

from tiny_models import TEXTS, tiny_classifier
from tiny_training import begin, data_of, loss_of, with_copies
from unfooled.defences import DEFENCES, Step, check_kind, make_defence, training_for
from unfooled.errors import UsageError
from unfooled.models import Batch, Model, TextModel, new_image_model
from unfooled.predictors import Classifier, make_predictor
from unfooled.settings import describe_settings

GOOD, BAD = ("good", "great", "fine", "lovely", "witty"), ("bad", "poor", "dull", "awful", "flat")
FAMILIES = ("bert", "t5", "deberta-v2")
OF_IMAGES = ("static-mask", "ars")
OF_TEXTS = [name for name in DEFENCES if name not in OF_IMAGES]


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Settings that fit tiny texts: synonyms that need no word vectors, few deletions. Otherwise defaults."""
    path: Path = tmp_path_factory.mktemp("table") / "synonyms.json"
    path.write_text(json.dumps({"good": GOOD[1:], "bad": BAD[1:], "film": ["movie"]}))
    synonyms = {"table": str(path)}
    own: dict[str, dict[str, Any]] = {"safer": synonyms, "random-delete": {"rates": [0.3]}}
    whole = {**synonyms, "warmup": 0}  # a weight that rises hides that the loss falls
    own |= {"bat-pairwise": whole, "bat-triplet": whole}
    return {name: own.get(name, {}) for name in DEFENCES}


def tiny_model(name: str) -> Model:
    """A model that this defence serves."""
    if name in OF_IMAGES:
        return new_image_model("small-cnn:width=4", (1, 8, 8), 3)
    return tiny_classifier("bert")


def separable(classifier: TextModel, rows: int = 48) -> Batch:
    """Texts with four telling words each: masking one or two leaves the label readable."""
    chooser = random.Random(0)
    labels = [row % 2 for row in range(rows)]
    texts = [
        " ".join(["the", "film", *chooser.sample(GOOD if label else BAD, 4), "and", "short"][: 6 + row % 3])
        for row, label in enumerate(labels)
    ]
    return classifier.batch(classifier.encode(texts), labels)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", OF_TEXTS)
def test_the_loss_is_finite_and_reaches_the_weights(
    name: str, family: str, settings: dict[str, dict[str, Any]]
) -> None:
    torch.manual_seed(0)
    classifier = tiny_classifier(family, labels=2)
    defence = make_defence(name, settings[name]).resolved(classifier)
    batch = classifier.batch(classifier.encode(TEXTS), [row % 2 for row in range(len(TEXTS))])
    session = begin(defence, classifier, data_of(batch))
    loss = session.backward(batch, with_copies(session, batch, Step(done=0.5)))
    assert loss.shape == ()
    assert loss.isfinite()
    assert all(p.grad is None or p.grad.isfinite().all() for p in classifier.module.parameters())
    for weight in (classifier.architecture.embeddings.weight, classifier.architecture.blocks[0]):
        parameters = [weight] if isinstance(weight, torch.Tensor) else list(weight.parameters())
        assert any(p.grad is not None and p.grad.abs().max() > 0 for p in parameters)


@pytest.mark.full
@pytest.mark.parametrize("name", OF_TEXTS)
def test_a_few_steps_learn_a_separable_task(name: str, settings: dict[str, dict[str, Any]]) -> None:
    torch.manual_seed(0)
    classifier = tiny_classifier("bert", labels=2, num_hidden_layers=2)
    defence = make_defence(name, settings[name]).resolved(classifier)
    batch = separable(classifier)
    optimizer = torch.optim.AdamW(classifier.module.parameters(), lr=3e-3)
    classifier.module.train()
    session, losses = begin(defence, classifier, data_of(batch)), []
    for number in range(40):
        optimizer.zero_grad()
        step = with_copies(session, batch, Step(done=number / 40, number=number), epoch=number)
        losses.append(float(session.backward(batch, step)))
        optimizer.step()
    assert sum(losses[-5:]) < 0.5 * sum(losses[:5])
    deployed = Classifier(classifier, defence.predictor(classifier), labels=["bad", "good"])
    answers = deployed.predict(["the film lovely great witty fine", "the film flat awful poor dull"])
    assert [answer.label for answer in answers] == ["good", "bad"]


@pytest.mark.parametrize("name", DEFENCES)
def test_its_predictor_can_be_saved_and_made_again(name: str, settings: dict[str, dict[str, Any]]) -> None:
    classifier = tiny_model(name)
    predictor = make_defence(name, settings[name]).resolved(classifier).predictor(classifier)
    described = predictor.describe()
    assert make_predictor(described.pop("name"), described) == predictor
    predictor.check(classifier)


@pytest.mark.parametrize("name", DEFENCES)
def test_it_says_what_it_is_and_what_its_settings_mean(name: str) -> None:
    defence = DEFENCES[name]
    assert defence.name == name
    assert len(defence.summary) > 10
    assert 0 < defence.learning_rate < 1
    assert all(info.help for info in describe_settings(defence))


@pytest.mark.parametrize("name", DEFENCES)
def test_settings_survive_being_resolved_twice(name: str, settings: dict[str, dict[str, Any]]) -> None:
    classifier = tiny_model(name)
    once = make_defence(name, settings[name]).resolved(classifier)
    assert once.resolved(classifier) == once


def test_an_unknown_defence_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(
        UsageError, match=r"no defence 'rmsi'. Did you mean 'rsmi'\? Choose one of: standard, rsmi"
    ):
        make_defence("rmsi")


def test_standard_is_cross_entropy_on_the_texts_as_they_are() -> None:
    classifier = tiny_classifier("bert", labels=2)
    batch = separable(classifier, 6)
    loss = loss_of(make_defence("standard"), classifier, batch, Step(done=0.0))
    logits = classifier.module(
        input_ids=batch.ids, attention_mask=batch.mask, token_type_ids=batch.type_ids
    ).logits
    expected = -logits.log_softmax(dim=-1)[torch.arange(6), batch.labels].mean()
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)


def test_what_is_proposed_for_a_threat_serves_the_kind_of_model() -> None:
    assert training_for("linf", "text") == ("noise-augment", "stability", "certified-rsmi")
    assert set(training_for("linf", "image")) == {"noise-augment", "stability", "ars", "static-mask"}
    assert "certified-rsmi" not in training_for("linf", "question")
    assert set(training_for("linf")) == {*training_for("linf", "text"), *training_for("linf", "image")}


NOTHING_LEFT: dict[str, dict[str, object]] = {
    "a2t": {"share": 0},
    "infobert": {"alpha": 0, "beta": 0},
    "bat-pairwise": {"alpha": 0, "beta": 0},
    "bat-triplet": {"weight": 0},
    "smart": {"weight": 0, "proximal": 0},
    "alum": {"weight": 0},
    "trades": {"weight": 0},
    "stability": {"gamma": 0},
    "flooding": {"level": 0},
    "mixup": {"weight": 0},
}


@pytest.mark.parametrize("name", NOTHING_LEFT)
def test_a_method_whose_weights_are_all_0_says_that_it_adds_nothing(name: str) -> None:
    model = tiny_classifier("bert", labels=2)
    for settings in ({}, NOTHING_LEFT[name]):
        told = begin(make_defence(name, settings).resolved(model), model).warnings()
        assert len(told) == bool(settings)
        assert not told or (name in told[0] and "is 0" in told[0] and "adds nothing" in told[0])


def test_infobert_with_one_term_left_out_and_the_other_0_says_so() -> None:
    model = tiny_classifier("bert", labels=2)
    for settings in ({"ib_only": True, "beta": 0}, {"anchored_only": True, "alpha": 0}):
        assert begin(make_defence("infobert", settings).resolved(model), model).warnings()
    assert not begin(make_defence("infobert", {"ib_only": True}).resolved(model), model).warnings()


@pytest.mark.parametrize("name", ["rsmi", "infobert+freelb", "bat-triplet", "a2t", "advaug+mixup", "safer"])
def test_a_defence_that_needs_words_refuses_images_by_its_name(name: str) -> None:
    part = name.partition("+")[0]
    with pytest.raises(UsageError, match=f"'{part}' does not serve images: it works on words"):
        check_kind(make_defence(name), tiny_model("ars"))


@pytest.mark.parametrize("name", ["a2t", "advaug"])
def test_an_unknown_recipe_is_refused_with_those_for_texts(name: str) -> None:
    with pytest.raises(UsageError, match=r"no recipe 'pgd'.*textfooler") as refused:
        make_defence(name, {"recipe": "pgd"})
    assert "pgd-linf" not in str(refused.value)
    with pytest.raises(UsageError, match="pgd-linf attacks images"):
        make_defence(name, {"recipe": "pgd-linf"})


@pytest.mark.parametrize(
    ("name", "kind", "instead"),
    [
        ("ars", "text", "certified-rsmi"),
        ("static-mask", "text", "certified-rsmi"),
        ("certified-rsmi", "image", "ars"),
    ],
)
def test_a_defence_for_another_kind_of_model_names_its_counterpart(
    name: str, kind: str, instead: str
) -> None:
    model = tiny_classifier("bert") if kind == "text" else tiny_model("ars")
    with pytest.raises(
        UsageError, match=f"'{name}' does not serve {kind}s: its masks? hides? .*{instead} masks"
    ):
        check_kind(make_defence(name), model)
