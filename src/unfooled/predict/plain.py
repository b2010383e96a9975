"""The plain predictor: one forward pass, the most probable class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from unfooled.models import Encoded, TextClassifier, length_sorted_chunks
from unfooled.predict.decision import Decision

MAX_TOKENS = 4096
"""Padded tokens a forward pass; past this a CPU gains nothing and a small GPU may run out of memory."""


@dataclass(frozen=True)
class Plain:
    """Softmax of one forward pass, without noise."""

    name: ClassVar[str] = "plain"

    def check(self, classifier: TextClassifier) -> None:
        pass

    def decide(
        self, classifier: TextClassifier, encoded: Sequence[Encoded], *, seed: int = 0
    ) -> list[Decision]:
        decisions: list[Decision | None] = [None] * len(encoded)
        with torch.inference_mode():
            for chunk in length_sorted_chunks([len(item) for item in encoded], MAX_TOKENS):
                batch = classifier.batch([encoded[index] for index in chunk])
                scores = classifier.forward(batch).logits.softmax(dim=-1).cpu().tolist()
                for index, row in zip(chunk, scores, strict=True):
                    decisions[index] = Decision(
                        label=max(range(len(row)), key=row.__getitem__), scores=tuple(row)
                    )
        return [decision for decision in decisions if decision is not None]

    def describe(self) -> dict[str, Any]:
        return {"name": self.name}
