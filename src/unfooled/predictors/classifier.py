"""``Classifier``: a model, its tokenizer and the predictor its defence asks for.

>>> clf = unfooled.load("runs/rsmi")
>>> clf.predict(["a gorgeous, witty film"])[0].label
'positive'
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from unfooled.errors import UsageError
from unfooled.models import Encoded, TextModel
from unfooled.models.encoding import MAX_CHARACTERS
from unfooled.predictors.predictor import Predictor, Seed
from unfooled.records.decision import Decision
from unfooled.records.prediction import Prediction
from unfooled.records.predictions import Predictions


class Classifier:
    """Answers for texts; see :class:`Prediction`.

    Predictions of a randomised predictor are a function of ``seed`` and the text alone: the same
    input gets the same votes in a batch of 1 or 64. ``seed=None`` draws a fresh seed, which is what a
    service facing an attacker wants.
    """

    def __init__(
        self,
        model: TextModel,
        predictor: Predictor,
        *,
        labels: Sequence[str],
        defence: str = "standard",
        settings: dict[str, Any] | None = None,
        task: dict[str, Any] | None = None,
        folder: Path | None = None,
    ) -> None:
        if len(labels) != model.num_labels:
            raise UsageError(
                f"{len(labels)} label names for a model with {model.num_labels} outputs: give one per output."
            )
        predictor.check(model)
        self.model = model
        self.predictor = predictor
        self.labels = tuple(labels)
        self.defence = defence
        self.settings = dict(settings or {})
        self.task = dict(task or {})
        self.folder = folder
        """The run folder it was loaded from; says what it was trained on, and results go there."""
        model.module.eval()

    def __repr__(self) -> str:
        return f"Classifier(defence={self.defence!r}, predictor={self.predictor!r}, labels={self.labels!r})"

    @property
    def takes_pairs(self) -> bool:
        return self.task.get("kind") == "pair"

    def with_predictor(self, predictor: Predictor) -> Classifier:
        """The same weights under another predictor."""
        return Classifier(
            self.model,
            predictor,
            labels=self.labels,
            defence=self.defence,
            settings=self.settings,
            task=self.task,
            folder=self.folder,
        )

    def predict(
        self, texts: Sequence[str], pairs: Sequence[str] | None = None, *, seed: int | None = 0
    ) -> Predictions:
        """One :class:`Prediction` per input, in order; one that cannot be read is refused, not raised."""
        texts, pairs = self.checked(texts, pairs)
        refusals = [refusal(text, pair) for text, pair in zip(texts, pairs or texts, strict=True)]
        readable = [index for index, reason in enumerate(refusals) if not reason]
        encoded = self.model.encode(
            [texts[index] for index in readable],
            None if pairs is None else [pairs[index] for index in readable],
        )
        for index, item in zip(readable, encoded, strict=True):
            if not any(item.maskable):
                refusals[index] = "the text has nothing to read (only spaces or control characters)"
        kept = [(index, item) for index, item in zip(readable, encoded, strict=True) if not refusals[index]]
        decisions = self.decide([item for _, item in kept], seed=seed)
        answers: list[Prediction] = [Prediction(label=None, refused=reason) for reason in refusals]
        for (index, item), decision in zip(kept, decisions, strict=True):
            sources = (texts[index], "" if pairs is None else pairs[index])
            answers[index] = self._prediction(item, decision, sources)
        return Predictions(tuple(answers), tuple(texts), None if pairs is None else tuple(pairs))

    def decide(self, encoded: Sequence[Encoded], *, seed: Seed | None = 0) -> list[Decision]:
        """Decisions for tokenised inputs (attacks, certificates and evaluation work on these).

        ``seed`` may be one for all inputs or one per input.
        """
        actual = secrets.randbits(63) if seed is None else seed
        self.model.module.eval()
        # The caller may be in inference mode, where saliency could not be differentiated.
        with torch.inference_mode(False):
            return self.predictor.decide(self.model, encoded, seed=actual)

    def checked(
        self, texts: Sequence[str], pairs: Sequence[str] | None
    ) -> tuple[list[str], list[str] | None]:
        """Texts as lists, without what cannot be tokenised; what is no list of texts is refused."""
        if isinstance(texts, str) or isinstance(pairs, str):
            raise UsageError("predict takes a list of texts: put your text in brackets, predict([text]).")
        for name, values in (("texts", texts), ("pairs", [] if pairs is None else pairs)):
            for index, value in enumerate(values):
                if not isinstance(value, str):
                    raise UsageError(f"{name}[{index}] is {type(value).__name__}, not text.")
        if self.takes_pairs and pairs is None:
            raise UsageError("This classifier was trained on pairs: give the second texts as pairs=[…].")
        if self.task and not self.takes_pairs and pairs is not None:
            raise UsageError("This classifier was trained on single texts: leave out pairs.")
        if pairs is not None and len(pairs) != len(texts):
            raise UsageError(f"{len(texts)} texts but {len(pairs)} pairs: give one pair per text.")
        # Lone surrogates cannot be tokenised; what they stood for is lost already.
        clean = [_without_surrogates(text) for text in texts]
        return clean, None if pairs is None else [_without_surrogates(text) for text in pairs]

    def _prediction(self, item: Encoded, decision: Decision, sources: tuple[str, str]) -> Prediction:
        spans = tuple(item.offsets[position] for position in decision.masked)
        leader = self.labels[decision.label]
        return Prediction(
            label=None if decision.abstained else leader,
            scores=dict(zip(self.labels, decision.scores, strict=True)),
            votes=tuple(dict(zip(self.labels, stage, strict=True)) for stage in decision.votes),
            stage=decision.stage,
            masked_words=tuple(sources[which][start:end] for which, start, end in spans),
            masked_spans=spans,
            forwards=decision.forwards,
            abstained=decision.abstained,
            leader=leader,
            truncated=item.truncated,
        )


def refusal(text: str, pair: str) -> str:
    """Why a text (or its pair) is not read; empty if it is."""
    for value in (text, pair):
        if not value.strip():
            return "the text is empty"
        if len(value) > MAX_CHARACTERS:
            return f"the text has {len(value):,} characters; at most {MAX_CHARACTERS:,} are read"
    return ""


def _without_surrogates(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
