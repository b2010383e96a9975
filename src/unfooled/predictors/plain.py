"""The plain predictor: one forward pass, the most probable answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from unfooled.files import JsonObject
from unfooled.hub.batches import balanced, map_by_length
from unfooled.models import EncodedInput, Model
from unfooled.predictors.input_parts import parts_of
from unfooled.predictors.predictor import Seed
from unfooled.predictors.tally import argmax
from unfooled.records.decision import Decision


@dataclass(frozen=True)
class Plain:
    """Softmax of one forward pass, without noise."""

    name: ClassVar[str] = "plain"

    @property
    def randomised(self) -> bool:
        return False

    def check(self, model: Model) -> None:
        pass

    def decide(self, model: Model, encoded: Sequence[EncodedInput], *, seed: Seed = 0) -> list[Decision]:
        parts = parts_of(model, encoded)
        rows, device = parts.rows, model.device

        def readings_of(chunk: list[int]) -> list[Any]:
            own = [rows[index] for index in chunk]
            with torch.inference_mode():
                return model.readings(own, model.forward(model.batch(own)).logits)

        lengths = [len(item) for item in rows]
        most = balanced(sum(lengths), model.batch_size, device)
        readings = map_by_length(readings_of, lengths, most, device, parallel=model.parallel)
        each = [[reading] for reading in readings]
        return [
            Decision(
                label=argmax(scores), scores=scores, forwards=len(parts.of[owner]), answers=compared.answers
            )
            for owner, compared in enumerate(parts.compared(owner, each) for owner in range(len(encoded)))
            for scores in [_softmax(compared.rows[0])]
        ]

    def describe(self) -> JsonObject:
        return {"name": self.name}


def _softmax(logits: Sequence[float]) -> tuple[float, ...]:
    return tuple(torch.tensor(logits).softmax(dim=-1).tolist())
