"""The plain predictor: one forward pass, the most probable class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch

from unfooled.files import JsonObject
from unfooled.hub.batches import balanced, map_by_length
from unfooled.models import EncodedInput, Model
from unfooled.predictors.predictor import Seed
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
        def scores_of(chunk: list[int]) -> list[list[float]]:
            with torch.inference_mode():
                batch = model.batch([encoded[index] for index in chunk])
                scores: list[list[float]] = model.forward(batch).logits.softmax(dim=-1).cpu().tolist()
            return scores

        lengths = [len(item) for item in encoded]
        device = model.device
        scores = map_by_length(
            scores_of,
            lengths,
            balanced(sum(lengths), model.batch_size, device),
            device,
            parallel=model.parallel,
        )
        return [
            Decision(label=max(range(len(row)), key=row.__getitem__), scores=tuple(row)) for row in scores
        ]

    def describe(self) -> JsonObject:
        return {"name": self.name}
