"""Training on texts and pairs of texts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from torch import nn

from unfooled.data import TaskData
from unfooled.defences import TrainingData
from unfooled.files import JsonObject
from unfooled.hub.devices import device_and_bf16
from unfooled.models import Model, as_text, open_encoder
from unfooled.predictors import Classifier
from unfooled.records.decision import Decision
from unfooled.statistics.metrics import classification_metrics
from unfooled.storage.config import TrainConfig
from unfooled.training.data_kind import DataKind, no_network
from unfooled.training.watch import collapsed


def _opened(config: TrainConfig, splits: TaskData, network: nn.Module | None) -> Model:
    no_network(network)
    device, bf16 = device_and_bf16(config.device, config.precision)
    task = splits.task
    length = config.max_length or task.max_length
    return open_encoder(
        str(config.encoder), task.labels, max_length=length, layers=config.layers, device=device, bf16=bf16
    )


def _held_out(model: Model, splits: TaskData, split: str) -> TrainingData:
    rows = getattr(splits, split)
    pairs = list(rows["text_pair"]) if "text_pair" in rows.column_names else None
    return TrainingData(as_text(model).encode(list(rows["text"]), pairs), list(rows["label"]))


def _training(model: Model, splits: TaskData, config: TrainConfig) -> TrainingData:
    return _held_out(model, splits, "train")


def measured_classes(classifier: Classifier, data: TrainingData, decisions: Sequence[Decision]) -> JsonObject:
    """The task's metric, macro F1 and the confusion matrix."""
    return classification_metrics(
        data.labels,
        [decision.label for decision in decisions],
        classifier.labels,
        abstained=[decision.abstained for decision in decisions],
        forwards=[decision.forwards for decision in decisions],
        metric=classifier.metric.name,
        score=classifier.metric.score,
    )


TEXTS = DataKind(_opened, _training, _held_out, measured_classes, partial(collapsed, things="texts"))
