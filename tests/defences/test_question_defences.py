"""Defences on questions: the same code as on texts, with spans for labels."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import torch

from tiny_models import tiny_classifier
from tiny_questions import tiny_reader, tiny_records
from unfooled.defences import (
    Session,
    Step,
    Training,
    TrainingData,
    TrainingExample,
    make_defence,
    settings_of,
)
from unfooled.defences.parts.question_copies import AskedPart, ReadsQuestions
from unfooled.models import QaModel, Window
from unfooled.predictors import Classifier
from unfooled.words.alignment import left_words, rewritten, spaced_words
from unfooled.words.word import WORD

SETTINGS: dict[str, dict[str, Any]] = {
    "standard": {},
    "freelb": {"steps": 2},
    "infobert": {"anchored_from": 0.5},
    "infobert+freelb": {"infobert.anchored_from": 0.5},
    "smart": {},
    "alum": {},
    "trades": {},
    "stability": {"sigma": 0.2},
    "noise-augment": {"sigma": 0.2},
    "rsmi": {"sigma": 0.2, "second_votes": 6},
    "random-delete": {"draws": 2},
    "random-mask": {"kept": 0.7, "draws": 2},
    "safer": {"votes": 10},
}
VOTING = ("rsmi", "stability", "noise-augment", "random-delete", "random-mask", "safer")


def training_data(model: QaModel, count: int = 6) -> TrainingData:
    windows, labels = [], []
    for record in tiny_records(count)[:count]:
        (item,) = model.read([(record["question"], record["context"])])
        answer = record["answers"][0]
        span = (answer["answer_start"], answer["answer_start"] + len(answer["text"]))
        tokens = item.windows[0].covering(span)
        assert tokens is not None
        windows.append(item.windows[0])
        labels.append(tokens)
    return TrainingData(windows, labels)


def copies(session: Session[Any], data: TrainingData, epoch: int) -> dict[str, Any]:
    """What the data loader makes of all examples."""
    rows = zip(data.encoded, data.labels, strict=True)
    examples = [TrainingExample(number, *row) for number, row in enumerate(rows)]
    return {name: maker(examples) for name, maker in session.copy_makers(epoch, data).items()}


@pytest.fixture
def synonyms(tmp_path: Path) -> str:
    """A substitution table of some words of the tiny questions."""
    path = tmp_path / "synonyms.json"
    path.write_text(json.dumps({"film": ["movie"], "is": ["was"], "night": ["day"], "witty": ["funny"]}))
    return str(path)


@pytest.mark.full
@pytest.mark.parametrize("name", SETTINGS)
def test_a_defence_trains_spans_and_its_predictor_answers(name: str, synonyms: str) -> None:
    model = tiny_reader()
    settings = {**SETTINGS[name], **({"table": synonyms} if name == "safer" else {})}
    defence = make_defence(name, settings).resolved(model)
    data = training_data(model)
    session = defence.begin(Training(model, data, None, seed=0, steps=30))  # type: ignore[arg-type]
    weights = [*model.module.parameters(), *(w for own in session.modules.values() for w in own.parameters())]
    optimiser = torch.optim.AdamW(weights, lr=3e-3)
    model.module.train()
    torch.manual_seed(0)
    batch = model.batch(data.encoded, data.labels)

    def plain_loss() -> float:
        model.module.eval()
        with torch.no_grad():
            found = float(session.task_loss(model.forward(batch).logits, batch))
        model.module.train()
        return found

    before = plain_loss()
    for number in range(25):
        optimiser.zero_grad()
        loss = session.backward(batch, Step(done=0.5, number=number, copies=copies(session, data, number)))
        assert torch.isfinite(loss)
        optimiser.step()
    assert plain_loss() < 0.7 * before
    clf = Classifier(model, defence.predictor(model), labels=(), task={"kind": "qa", "metric": "f1"})
    record = tiny_records(1)[0]
    (answer,) = clf.predict([record["question"]], [record["context"]])
    assert answer.label and answer.label in record["context"]
    assert bool(answer.votes) == (name in VOTING)
    assert all(which == 1 for which, _, _ in answer.masked_spans), "the question is not masked"


def test_the_question_takes_no_noise_and_is_never_masked_in_training() -> None:
    model = tiny_reader()
    data = training_data(model)
    batch = model.batch(data.encoded, data.labels)
    assert batch.asked is not None
    assert not (batch.noised.bool() & batch.asked).any()
    assert not (batch.maskable & batch.asked).any()
    assert (batch.words & batch.asked).equal(batch.asked), "InfoBERT ranks the words of the question, too"


def test_the_settings_of_the_paper_for_questions_are_the_defaults() -> None:
    made = make_defence("infobert+freelb", {}).resolved(tiny_reader())
    found = settings_of(made)
    assert found["infobert.beta"] == 5e-5
    assert (found["infobert.anchored_from"], found["infobert.anchored_to"]) == (0.75, 0.95)
    assert found["freelb.steps"] == 2
    assert found["freelb.radius"] == pytest.approx(2 * found["freelb.step_size"], rel=0.1)
    given = settings_of(make_defence("infobert", {"beta": 1.0}).resolved(tiny_reader()))
    assert given["beta"] == 1.0 and given["anchored_from"] == 0.75
    of_texts = settings_of(make_defence("infobert+freelb", {}).resolved(tiny_classifier("bert")))
    assert (of_texts["infobert.beta"], of_texts["infobert.anchored_from"]) == (5e-3, 0.5)
    assert of_texts["freelb.radius"] is None


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_copies_keep_the_answer_under_every_tokenizer(family: str) -> None:
    """The tokens of a label are the characters of the answer, whatever was deleted or rewritten around it."""
    model, chance = tiny_reader(family), random.Random(0)
    reads = ReadsQuestions(model.tokenizer, model.max_length, model.stride)
    data, compared = training_data(model), 0
    for window, label in zip(data.encoded, data.labels, strict=True):
        assert isinstance(window, Window)
        part = AskedPart.of(window, label)
        assert part.gold is not None
        gold = part.context[slice(*part.gold)]
        kept = [part.touches(place) or chance.random() < 0.5 for place in spaced_words(part.context)]
        places = [match.span() for match in WORD.finditer(part.context)]
        others = rewritten(part.context, lambda n, _: None if part.touches(places[n]) else "wonderful")  # noqa: B023
        for made in (left_words(part.context, kept), others):
            ((copy, tokens),) = reads.copies([(part, made, True)])
            assert copy.texts[1][slice(*copy.span(*tokens))] == gold
            compared += 1
        ((copy, tokens),) = reads.copies([(part, others, False)])
        assert tokens == (copy.null, copy.null), "an answer that is lost is no answer"
    assert compared == 12
