"""Balanced Adversarial Training (BAT; Chen, Ji, Evans; EMNLP 2022, §4).

Each example x has a fickle copy x_f, which means the same, and an obstinate copy x_o, which does not
(:mod:`.bat_copies`), made anew every epoch. With d = 1 − cosine of what the classification head reads of two
inputs (the last layer's ``[CLS]`` before the pooler):

    bat-pairwise   CE + α·mean d(x, x_f) + β·mean max(0, m − d(x, x_o))
    bat-triplet    CE + λ·mean max(0, d(x, x_f) + m − d(x, x_o))

Each mean is over the examples that have the copy; a missing copy removes its part of the triplet, as in the
released code. x comes from the forward pass of plain fine-tuning; all copies go through one more.

Deviations. The weight of the terms rises over the first half of training (``warmup``): the paper has the full
weight from the first step, with which the shipped encoder hardly learns. Antonyms need not have the part of
speech that their word has in the text; stop words have none. Substitutes are neighbours by counter-fitted
vectors, as in the released code; §3.1 of the paper names GloVe.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import torch
from torch import Tensor
from torch.nn import functional as F

from unfooled.data import TaskData
from unfooled.data.task import Task
from unfooled.defences.parts.base import NO_WORDS
from unfooled.defences.parts.bat_copies import (
    Copies,
    MakeCopies,
    antonyms_in,
    changing_labels,
    words_with_antonyms,
)
from unfooled.defences.parts.scale import risen
from unfooled.defences.parts.synonym_words import check_synonyms
from unfooled.defences.session import Pass, Session, Step, Training, TrainingData
from unfooled.errors import UserError
from unfooled.models import Encoded, Model, as_text
from unfooled.predictors import Plain, Predictor
from unfooled.predictors.smoothing import SubstitutionSets
from unfooled.settings import setting

B = TypeVar("B", bound="Bat")


@dataclass(frozen=True)
class Distances:
    """Of each example to its copies, ``(rows,)``; where there is no copy the distance is 0."""

    fickle: Tensor
    obstinate: Tensor
    has_fickle: Tensor
    has_obstinate: Tensor


@dataclass(frozen=True)
class Bat(SubstitutionSets, ABC):
    """What both losses have in common."""

    name: ClassVar[str]
    learning_rate: ClassVar[float] = 1e-4
    certifies: ClassVar[tuple[str, ...]] = ()
    refuses: ClassVar[dict[str, str]] = {
        "question": "its copies keep or change a label, and an answer is none",
        "image": NO_WORDS,
    }
    deployed_as: ClassVar[str] = "plain"

    margin: float = setting(1.0, "Distance that obstinate copies are pushed to (m)", at_least=0, at_most=2)
    obstinate_labels: tuple[str, ...] | None = setting(
        None, "Labels that an antonym changes; those that the task declares if not given"
    )

    warmup: float = setting(
        0.5, "Share of training over which the weight of the terms rises from nothing", at_least=0, at_most=1
    )

    def resolved(self: B, model: Model) -> B:
        as_text(model)  # other models are refused
        self.substitutes()  # made or read now, so that a bad table is refused early
        return self

    def check_data(self, data: TaskData) -> None:
        task, rows = data.task, data.train
        changing = self.changing(task)
        columns = [rows[name] for name in ("text", "text_pair") if name in rows.column_names]
        examples = zip(rows["label"], *columns, strict=True)
        texts = (text for label, *own in examples if label in changing for text in own)
        if self.pushes_away and next(words_with_antonyms(texts), None) is None:
            names = ", ".join(task.labels[label] for label in sorted(changing))
            raise UserError(
                f"{self.name} found no antonym of any word in the training examples (labels {names}). Its "
                "antonyms are those of the English WordNet: train on English texts, on more of them, or "
                "choose another defence."
            )
        if self.draws_near:
            check_synonyms(self.name, self, data)

    @property
    def draws_near(self) -> bool:
        """Whether fickle copies have a weight."""
        return True

    @property
    def pushes_away(self) -> bool:
        """Whether obstinate copies have a weight."""
        return True

    def changing(self, task: Task) -> frozenset[int]:
        """The labels whose examples get obstinate copies."""
        return changing_labels(self.name, task, self.obstinate_labels) if self.pushes_away else frozenset()

    def begin(self, training: Training) -> BatSession:
        return BatSession(training, self)

    @abstractmethod
    def contrast(self, distances: Distances) -> Tensor:
        """What is added to the cross-entropy."""

    def predictor(self, model: Model) -> Predictor:
        return Plain()


@dataclass(frozen=True)
class BatPairwise(Bat):
    """Fickle copies are drawn near, obstinate ones pushed away, each on its own."""

    name: ClassVar[str] = "bat-pairwise"
    summary: ClassVar[str] = "Synonym copies drawn near, antonym copies pushed away (BAT, Chen et al. 2022)"
    weights: ClassVar[tuple[str, ...]] = ("alpha", "beta")

    alpha: float = setting(1.0, "Weight of the distance to fickle copies (α)", at_least=0)
    beta: float = setting(1.2, "Weight of the nearness of obstinate copies (β)", at_least=0)

    @property
    def draws_near(self) -> bool:
        return self.alpha > 0

    @property
    def pushes_away(self) -> bool:
        return self.beta > 0

    def contrast(self, distances: Distances) -> Tensor:
        near = (self.margin - distances.obstinate).clamp(min=0)
        return self.alpha * _mean(distances.fickle, distances.has_fickle) + self.beta * _mean(
            near, distances.has_obstinate
        )


@dataclass(frozen=True)
class BatTriplet(Bat):
    """Obstinate copies must be farther away than fickle ones, by a margin."""

    name: ClassVar[str] = "bat-triplet"
    summary: ClassVar[str] = "Antonym copies farther away than synonym copies (BAT, Chen et al. 2022)"
    weights: ClassVar[tuple[str, ...]] = ("weight",)

    weight: float = setting(1.0, "Weight of the triplet loss (λ)", at_least=0)

    def contrast(self, distances: Distances) -> Tensor:
        near = (self.margin - distances.obstinate) * distances.has_obstinate
        return self.weight * _mean(
            (distances.fickle + near).clamp(min=0), distances.has_fickle | distances.has_obstinate
        )


def _mean(values: Tensor, there: Tensor) -> Tensor:
    """Over the rows that are there; 0 if none is."""
    return (values * there).sum() / there.sum().clamp(min=1)


class BatSession(Session[Bat]):
    """Plain fine-tuning, and a term of the distances to the copies."""

    hidden_states = True

    def __init__(self, training: Training, defence: Bat) -> None:
        super().__init__(training, defence)
        self.whole_from = defence.warmup
        self._changing = defence.changing(training.task)
        self._read = training.data
        self._antonyms = antonyms_in(training.data, self._changing)

    def copies(self, epoch: int, data: TrainingData) -> MakeCopies:
        if data is not self._read:  # another part of a combination changed the texts
            self._read, self._antonyms = data, antonyms_in(data, self._changing)
        model = as_text(self.model)
        return MakeCopies(
            (self.training.seed, epoch),
            self.defence,
            self._antonyms,
            self._changing,
            model.tokenizer,
            model.max_length,
        )

    def terms(self, seen: Pass, step: Step) -> Tensor | None:
        weight = risen(step, self.defence.warmup)
        distances = self._distances(seen, self.copied(step)) if weight else None
        if distances is None:
            return None
        for name, values, there in (
            ("fickle_distance", distances.fickle, distances.has_fickle),
            ("obstinate_distance", distances.obstinate, distances.has_obstinate),
        ):
            if there.any():
                step.note(name, values[there].mean())
        return weight * self.defence.contrast(distances)

    def _distances(self, seen: Pass, copies: Sequence[Copies]) -> Distances | None:
        """Of the rows of a pass; None if none of them has a copy."""
        fickle, obstinate = ([pair[which] for pair in copies] for which in (0, 1))
        there: list[Encoded] = [copy for copy in (*fickle, *obstinate) if copy is not None]
        if not there:
            return None
        has = torch.tensor([copy is not None for copy in (*fickle, *obstinate)], device=self.model.device)
        made = self.model.forward(self.model.batch(there), hidden_states=True).summary
        own = seen.forward.summary
        assert own is not None and made is not None
        rows = torch.arange(len(copies), device=own.device).repeat(2)[has]
        distances = own.new_zeros(len(has))
        distances[has] = 1 - F.cosine_similarity(own[rows], made, dim=-1)
        return Distances(*distances.chunk(2), *has.chunk(2))
