"""What training does differently for a kind of data: from the configuration to measurements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from unfooled.defences import TrainingData
from unfooled.errors import UsageError
from unfooled.files import JsonObject
from unfooled.models import Model
from unfooled.predictors import Classifier
from unfooled.records.decision import Decision
from unfooled.storage.config import TrainConfig


@dataclass(frozen=True)
class DataKind:
    """Texts, images or questions. The splits are those that ``training/data.py`` loads for the kind."""

    opened: Callable[[TrainConfig, Any, nn.Module | None], Model]
    """The untrained model for these splits; or around a network of the user's, where the kind takes one."""
    training: Callable[[Model, Any, TrainConfig], TrainingData]
    """The training examples as the model reads them."""
    held_out: Callable[[Model, Any, str], TrainingData]
    """The dev or test inputs, with the truth of each for a label."""
    measure: Callable[[Classifier, TrainingData, Sequence[Decision]], JsonObject]
    """What decisions about held-out inputs are worth: a split in ``metrics.json``."""
    collapsed: Callable[[JsonObject], str | None]
    """A warning about a model that does not tell the dev inputs apart, from its measurements."""


def no_network(network: nn.Module | None) -> None:
    """Refuse a network of the user's, for kinds that are trained from an encoder."""
    if network is not None:
        raise UsageError("model is for images, and these are texts. Name an encoder with encoder=….")
