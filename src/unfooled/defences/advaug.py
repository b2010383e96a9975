"""Adversarial data augmentation: attack a plain model on its training texts, train again with the successes.

The baseline «AdvAug» of Moon et al. 2023 (§3) and others: fine-tune, attack 10,000 training texts, append the
successes with the labels of their originals, and train once more from the encoder. The attack is an ordinary
one, with its journal in the run folder (:mod:`unfooled.defences.parts.preparation`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unfooled.defences.parts.adversarial import AgainstRecipe, appended, counts_in_words
from unfooled.defences.parts.base import NO_WORDS
from unfooled.defences.parts.preparation import MadeExamples, Preparation
from unfooled.defences.session import Session, Training, TrainingData
from unfooled.files import JsonObject
from unfooled.models import Model, as_text
from unfooled.predictors import Plain, Predictor
from unfooled.settings import setting


@dataclass(frozen=True)
class AdvAug(AgainstRecipe):
    """Plain fine-tuning on the training data and the successes of an attack on them."""

    name: ClassVar[str] = "advaug"
    summary: ClassVar[str] = "Trained again with the successes of an attack on a plain model's training texts"
    learning_rate: ClassVar[float] = 1e-4
    certifies: ClassVar[tuple[str, ...]] = ()
    refuses: ClassVar[dict[str, str]] = {
        "question": "it attacks the labels of texts before training",
        "image": NO_WORDS,
    }
    deployed_as: ClassVar[str] = "plain"

    sample: int = setting(10_000, "Training texts that are attacked, stratified; all if fewer", at_least=1)
    plain: str | None = setting(
        None, "Run folder of the plain model; if not given, --encoder if that is a run, else one is trained"
    )

    def resolved(self, model: Model) -> AdvAug:
        as_text(model)  # other models are refused
        return self

    def preparation(self) -> Preparation:
        return Preparation(self.made_recipe(), self.sample, self.plain)

    def begin(self, training: Training) -> AdvAugSession:
        return AdvAugSession(training, self)

    def predictor(self, model: Model) -> Predictor:
        return Plain()


class AdvAugSession(Session[AdvAug]):
    """Plain fine-tuning on more data, the same in every epoch."""

    def __init__(self, training: Training, defence: AdvAug) -> None:
        super().__init__(training, defence)
        self._made = training.made.get(defence.name, MadeExamples())

    def on_epoch(self, epoch: int, data: TrainingData) -> TrainingData:
        return appended(self.model, data, self._made.examples)

    def figures(self) -> JsonObject:
        return dict(self._made.about)

    def warnings(self) -> list[str]:
        if self._made.examples:
            return []
        return [
            f"advaug: {self.defence.recipe} found no adversarial example ({counts_in_words(self._made.about)}"
            "): it adds nothing to the training. Choose another recipe, a larger sample, or looser "
            "recipe_settings."
        ]
