"""A2T: adversarial examples that are made while training goes on (Yoo and Qi 2021, Findings of EMNLP).

After some epochs on the data as they are, every epoch begins with an attack on the model of that moment, by
the cheap recipe ``a2t``, on a random share of the training set. The successes are appended for that epoch,
with the labels of their originals and the weight of any other example (α = 1). Chen et al. 2022 (BAT) compare
with it.

Deviations. The share is of the texts that are attacked; the code of Yoo and Qi (TextAttack's trainer) goes on
until there are so many successes, which is ``counted=successes``. Other weights than α = 1 are not offered.
What is attacked is one forward pass, whatever predictor a combination is deployed with.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch
from accelerate.utils import gather_object

from unfooled.defences.parts.adversarial import AgainstRecipe, appended, attack_counts, counts_in_words
from unfooled.defences.parts.base import NO_WORDS
from unfooled.defences.parts.preparation import MadeExample
from unfooled.defences.session import Session, Training, TrainingData
from unfooled.errors import UserError
from unfooled.files import JsonObject
from unfooled.models import Model, as_text, as_texts, mix
from unfooled.predictors import Classifier, Plain, Predictor
from unfooled.settings import setting

if TYPE_CHECKING:
    from unfooled.attacks import Outcome
    from unfooled.attacks.scheduler import Service

LEAST_AT_ONCE = 64
"""Texts that are attacked at once, however few successes are still wanted."""


@dataclass(frozen=True)
class A2TTraining(AgainstRecipe):
    """Plain fine-tuning on the training data and, anew in each epoch, the successes of an attack on some."""

    name: ClassVar[str] = "a2t"
    summary: ClassVar[str] = (
        "Adversarial examples made anew in each epoch by a cheap attack (Yoo and Qi 2021)"
    )
    learning_rate: ClassVar[float] = 1e-4
    certifies: ClassVar[tuple[str, ...]] = ()
    refuses: ClassVar[dict[str, str]] = {
        "question": "it attacks the labels of texts in training",
        "image": NO_WORDS,
    }
    deployed_as: ClassVar[str] = "plain"
    weights: ClassVar[tuple[str, ...]] = ("share",)

    recipe: str = setting("a2t", "Attack that makes the examples, see `unfooled attack --list`")
    share: float = setting(0.2, "Share of the training set, per epoch (γ)", at_least=0, at_most=1)
    counted: Literal["attacked", "successes"] = setting(
        "attacked", "What the share counts: texts attacked, or successes (goes on until it has them)"
    )
    clean_epochs: int = setting(1, "Epochs without attack at the beginning", at_least=0)

    def resolved(self, model: Model) -> A2TTraining:
        as_text(model)  # other models are refused
        return self

    def begin(self, training: Training) -> A2TSession:
        return A2TSession(training, self)

    def predictor(self, model: Model) -> Predictor:
        return Plain()


class A2TSession(Session[A2TTraining]):
    """Plain fine-tuning on data that grow by the successes of each epoch's attack."""

    def __init__(self, training: Training, defence: A2TTraining) -> None:
        super().__init__(training, defence)
        if defence.share and defence.clean_epochs < training.epochs:
            self.whole_from = defence.clean_epochs / training.epochs
        self._epochs: dict[str, dict[str, int]] = {}
        """By the number of the epoch, what came of its attack."""

    def on_epoch(self, epoch: int, data: TrainingData) -> TrainingData | None:
        _ = self._services  # what the attack needs and cannot be had is told in the first epoch
        if epoch < self.defence.clean_epochs:
            return None
        outcomes = list(self._outcomes(epoch, data))
        counts = attack_counts(outcomes)
        if counts["errors"] and counts["errors"] == len(outcomes):
            raise UserError(f"a2t: the attack broke on every text. The first: {outcomes[0].message}")
        made = [
            MadeExample(outcome.perturbed, data.labels[outcome.row])
            for outcome in outcomes
            if outcome.status == "success" and outcome.perturbed is not None
        ]
        if self.defence.counted == "successes":
            made = made[: self._wanted(data)]
        self._epochs[str(epoch)] = counts | {"appended": len(made)}
        return appended(self.model, data, made)

    def _wanted(self, data: TrainingData) -> int:
        return math.ceil(self.defence.share * len(data) - 1e-9)

    def _outcomes(self, epoch: int, data: TrainingData) -> Iterator[Outcome]:
        """Of texts in random order, as many as are attacked in this epoch."""
        order = torch.randperm(len(data), generator=self.training.generator(epoch)).tolist()
        wanted, done, successes = self._wanted(data), 0, 0
        until_found = self.defence.counted == "successes"
        while done < len(order) and (left := wanted - (successes if until_found else done)) > 0:
            rows = order[done : done + (max(left, LEAST_AT_ONCE) if until_found else left)]
            for outcome in self._attacked(rows, epoch, data):
                successes += outcome.status == "success"
                yield outcome
            done += len(rows)

    def _attacked(self, rows: Sequence[int], epoch: int, data: TrainingData) -> list[Outcome]:
        """The outcomes of these rows, in order. Each process attacks its share, and all get all outcomes."""
        from unfooled.attacks import Example, Limits, run_attacks

        training = self.training
        own = rows[training.process :: training.processes]
        encoded = as_texts(data.encoded)
        what = f"epoch {epoch + 1}: {self.defence.recipe} on training texts"
        found: list[Outcome] = []
        training.watch(what, 0, len(own))
        for outcome in run_attacks(
            (Example(row, encoded[row].texts, data.labels[row]) for row in own),
            self._recipe,
            self._services,
            # Time must not decide what a resumed training finds.
            limits=Limits(time_cap=math.inf),
            seed=mix(training.seed, epoch),
            label_names=training.task.labels,
        ):
            found.append(outcome)
            training.watch(what, len(found), len(own))
        if training.processes > 1:
            found = gather_object(found)
        places = {row: place for place, row in enumerate(rows)}
        return sorted(found, key=lambda outcome: places[outcome.row])

    @cached_property
    def _recipe(self) -> Any:
        from unfooled.attacks.parts.constraints import fitted_to
        from unfooled.attacks.tools import Tools

        return fitted_to(Tools().similarity, self.defence.made_recipe())

    @cached_property
    def _services(self) -> dict[str, Service]:
        """The model of this moment, whenever it is asked, and the tools of the recipe."""
        from unfooled.attacks.tools import Tools, make_services
        from unfooled.attacks.victims.ours import ClassifierVictim

        victim = ClassifierVictim(Classifier(self.model, Plain(), labels=self.training.task.labels))
        return make_services(
            victim,
            self._recipe,
            Tools(validity=False),
            training_texts=lambda: [
                text for item in as_texts(self.training.data.encoded) for text in item.texts
            ],
            device=self.model.device.type,
        )

    def state_dict(self) -> dict[str, Any]:
        return {"epochs": self._epochs}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._epochs = {epoch: dict(counts) for epoch, counts in state["epochs"].items()}

    def figures(self) -> JsonObject:
        return {"epochs": {str(int(epoch) + 1): counts for epoch, counts in self._epochs.items()}}

    def warnings(self) -> list[str]:
        clean, found = self.defence.clean_epochs, super().warnings()
        if self.training.epochs and clean >= self.training.epochs:
            found.append(
                f"a2t attacks after {clean} clean {'epoch' if clean == 1 else 'epochs'}, and training has "
                f"{self.training.epochs:g}: it adds nothing to the training. Raise --epochs, or lower "
                "clean_epochs."
            )
        for epoch, counts in self._epochs.items():
            if counts["sampled"] and not counts["appended"]:
                found.append(
                    f"a2t: {self.defence.recipe} found no adversarial example in epoch {int(epoch) + 1} "
                    f"({counts_in_words(counts)}): it trained on the data as they are. Choose another "
                    "recipe, a larger share, or looser recipe_settings."
                )
        return found
