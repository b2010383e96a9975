"""Hugging Face victims: a model folder or hub id run directly, or a text-classification pipeline object.

A model is run in batches of similar length, padded to the longest, without gradients. Its weights must be
safetensors, and remote code is never run. A pipeline object is called as it is, its own processing included.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unfooled.assets.digest import of_file
from unfooled.attacks.victim import Answer, Asked, Query
from unfooled.attacks.victims.scores import answers_of, checked_scores, in_order
from unfooled.errors import UsageError
from unfooled.hub.batches import length_sorted_chunks
from unfooled.hub.devices import device_named
from unfooled.hub.pretrained import longest_input, open_pair

MAX_TOKENS = 4096
"""Padded tokens per forward pass."""


class ModelVictim:
    """A sequence classifier and its tokenizer; ``max_length`` at most what the model reads."""

    randomised = False

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        labels: Sequence[str] | None = None,
        max_length: int | None = None,
        name: str = "",
    ) -> None:
        self.name = name or type(model).__name__
        _check_head(model.config, self.name)
        if tokenizer.pad_token_id is None:
            raise UsageError(f"The tokenizer of {self.name} has no padding token. Set its pad_token.")
        if max_length is not None and max_length < 3:
            raise UsageError(f"max_length must be at least 3, got {max_length}.")
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.labels = tuple(labels or _label_names(model.config))
        if len(self.labels) != model.config.num_labels:
            raise UsageError(
                f"{len(self.labels)} labels for {self.name}, which has {model.config.num_labels} classes. "
                "Give one label per class."
            )
        limit = longest_input(model, tokenizer)
        self.max_length = limit if max_length is None else min(max_length, limit)

    @classmethod
    def load(cls, location: str, *, device: str = "auto", **options: Any) -> ModelVictim:
        """The model in a folder or on the hub."""
        where = device_named(device)
        model, tokenizer = open_pair("AutoModelForSequenceClassification", location)
        return cls(model.to(where), tokenizer, name=location, **options)

    def __repr__(self) -> str:
        return f"ModelVictim({self.name!r}, labels={self.labels!r}, max_length={self.max_length})"

    @property
    def mask_token(self) -> str | None:
        """The token that stands for a hidden word."""
        found: str | None = self.tokenizer.mask_token
        return found

    def answers(self, asked: Sequence[Asked]) -> list[Answer]:
        if not asked:
            return []
        queries = [one.query for one in asked]
        return answers_of(checked_scores(self._logits(queries), queries, victim=self.name, logits=True))

    def describe(self) -> dict[str, Any]:
        """What it is, for the record of a run: the hub's commit, or the digests of a folder's weights."""
        return {
            "kind": "hf",
            "spec": self.name,
            "commit": getattr(self.model.config, "_commit_hash", None),
            "weights": _digests(Path(self.name)),
            "max_length": self.max_length,
        }

    def _logits(self, queries: Sequence[Query]) -> np.ndarray:
        import torch

        first = [query[0] for query in queries]
        second = [query[1] for query in queries] if len(queries[0]) == 2 else None
        encoded = self.tokenizer(first, second, truncation=True, max_length=self.max_length)
        names = [name for name in self.tokenizer.model_input_names if name in encoded]
        device = next(self.model.parameters()).device
        result = np.empty((len(queries), self.model.config.num_labels))
        for rows in length_sorted_chunks([len(ids) for ids in encoded["input_ids"]], MAX_TOKENS):
            batch = self.tokenizer.pad(
                {name: [encoded[name][row] for row in rows] for name in names}, return_tensors="pt"
            )
            with torch.inference_mode():
                result[rows] = self.model(**batch.to(device)).logits.float().cpu().numpy()
        return result


class PipelineVictim:
    """A ``transformers`` text-classification pipeline; class names become positions."""

    def __init__(
        self,
        pipeline: Any,
        *,
        labels: Sequence[str] | None = None,
        randomised: bool = False,
        batch_size: int = 32,
    ) -> None:
        if getattr(pipeline, "task", None) not in ("text-classification", "sentiment-analysis"):
            raise UsageError(
                f"A pipeline for {getattr(pipeline, 'task', None)!r} cannot be attacked here: "
                'make one with pipeline("text-classification", …).'
            )
        self.name = f"pipeline {getattr(pipeline.model, 'name_or_path', '') or type(pipeline.model).__name__}"
        _check_head(pipeline.model.config, self.name)
        self.pipeline = pipeline
        self.labels = tuple(labels or _label_names(pipeline.model.config))
        self.randomised = randomised
        self.batch_size = batch_size

    def __repr__(self) -> str:
        return f"PipelineVictim({self.name!r}, labels={self.labels!r})"

    def answers(self, asked: Sequence[Asked]) -> list[Answer]:
        queries = [one.query for one in asked]
        # Like lengths together: the pipeline pads each batch to its longest text.
        order = sorted(range(len(queries)), key=lambda row: sum(map(len, queries[row])))
        inputs = [
            queries[row][0]
            if len(queries[row]) == 1
            else {"text": queries[row][0], "text_pair": queries[row][1]}
            for row in order
        ]
        found = (
            self.pipeline(inputs, top_k=None, truncation=True, batch_size=self.batch_size) if inputs else []
        )
        named: list[dict[str, Any]] = [{} for _ in queries]
        for row, scores in zip(order, found, strict=True):
            named[row] = {entry["label"]: entry["score"] for entry in scores}
        if not named:
            return []
        rows = in_order(named, self.labels, victim=self.name)
        return answers_of(checked_scores(rows, queries, victim=self.name))

    def describe(self) -> dict[str, Any]:
        """What it is, for the record of a run."""
        return {
            "kind": "pipeline",
            "spec": self.name,
            "commit": getattr(self.pipeline.model.config, "_commit_hash", None),
            "randomised": self.randomised,
        }


def _label_names(config: Any) -> list[str]:
    return [str(config.id2label[number]) for number in range(config.num_labels)]


def _check_head(config: Any, name: str) -> None:
    if config.num_labels < 2 or config.problem_type in ("regression", "multi_label_classification"):
        kind = config.problem_type or "one output"
        raise UsageError(
            f"{name} does not choose one of several classes ({kind}). Wrap it in a function that returns one "
            "probability per class."
        )


def _digests(folder: Path) -> dict[str, str]:
    return {path.name: of_file(path) for path in sorted(folder.glob("*.safetensors"))}
