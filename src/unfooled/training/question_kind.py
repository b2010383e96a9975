"""Training on questions: every window of a context is an example.

Its label are the first and the last token of the answer, or twice the token that stands for no answer where
the window does not hold it. Of several right answers the first is trained. Dev and test are scored by F1 and
exact match of whole questions.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from unfooled.data.qa import QuestionData, QuestionRows
from unfooled.defences import TrainingData
from unfooled.errors import DataError
from unfooled.files import JsonObject
from unfooled.hub.devices import device_and_bf16
from unfooled.models import EncodedQuestion, Model, Unreadable, Window, as_questions, open_span_encoder
from unfooled.predictors import Classifier
from unfooled.records.decision import Decision
from unfooled.records.summaries.answer_scores import answer_metrics
from unfooled.storage.config import TrainConfig
from unfooled.training.data_kind import DataKind, no_network


def _opened(config: TrainConfig, splits: QuestionData, network: nn.Module | None) -> Model:
    no_network(network)
    device, bf16 = device_and_bf16(config.device, config.precision)
    return open_span_encoder(
        str(config.encoder),
        max_length=config.max_length or splits.task.max_length,
        layers=config.layers,
        unanswerable=splits.unanswerable,
        device=device,
        bf16=bf16,
    )


def _training(model: Model, splits: QuestionData, config: TrainConfig) -> TrainingData:
    windows: list[Window] = []
    labels: list[tuple[int, int]] = []
    for question, item in zip(splits.train, _read(model, splits.train), strict=True):
        gold = [(answer.start, answer.end) for answer in question.answers[:1]]
        own = [window.covering(gold[0]) if gold else None for window in item.windows]
        if gold and not any(own):
            continue  # the tokenizer reads nothing of the answer
        windows += item.windows
        labels += [
            found or (window.null, window.null) for window, found in zip(item.windows, own, strict=True)
        ]
    if not windows:
        raise DataError(
            f"{splits.task.name}: the tokenizer of {config.encoder} reads none of the answers. Choose an "
            "encoder for the language of the data."
        )
    return TrainingData(windows, labels)


def _held_out(model: Model, splits: QuestionData, split: str) -> TrainingData:
    rows: QuestionRows = getattr(splits, split)
    return TrainingData(_read(model, rows), [question.truth for question in rows])


def _read(model: Model, rows: QuestionRows) -> list[EncodedQuestion]:
    found = as_questions(model).read([(question.text, question.context) for question in rows])
    for question, item in zip(rows, found, strict=True):
        if isinstance(item, Unreadable):
            raise DataError(f"The question with the id {question.id!r} cannot be used: {item.reason}.")
    return found


def _measured(classifier: Classifier, data: TrainingData, decisions: Sequence[Decision]) -> JsonObject:
    answers = [
        str(classifier.answer(item, decision)) for item, decision in zip(data.encoded, decisions, strict=True)
    ]
    return answer_metrics(
        answers,
        data.labels,
        abstained=[decision.abstained for decision in decisions],
        forwards=[decision.forwards for decision in decisions],
    )


def _silent(dev: JsonObject) -> str | None:
    """A model that answers nothing, though there are answers."""
    if dev["answered"] or not dev["answerable"]:
        return None
    return (
        f"The model answers none of the {dev['examples']:,} dev questions. Train longer (--epochs), with "
        "another --lr, or with more answerable questions."
    )


QUESTIONS = DataKind(_opened, _training, _held_out, _measured, _silent)
