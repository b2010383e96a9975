"""Which models may be compared under attack: those that met the same attacks on the same inputs.

Attacks are the same if recipe, settings and limits are; inputs are the same if texts and labels are. Models
of one task are compared by the attacks that all of them met, each by the worst of these.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from unfooled.records.evidence import Attack, Evidence, ModelEvidence

Met = tuple[str, int]
"""An attack and its inputs, as far as comparisons go."""


@dataclass(frozen=True)
class Ranked:
    """A model and the attack that leaves it the fewest right answers, of those that all models met."""

    model: ModelEvidence
    worst: Attack

    @property
    def low(self) -> float:
        return float(self.worst.rate("racc")["interval"][0])

    @property
    def high(self) -> float:
        return float(self.worst.rate("racc")["interval"][1])


@dataclass(frozen=True)
class Comparison:
    """The models of one task, the most robust first; ``ranked`` is empty where nothing is comparable."""

    task: str
    models: tuple[ModelEvidence, ...]
    ranked: tuple[Ranked, ...]
    shared: tuple[str, ...]
    """The names of the attacks that all met on the same inputs."""
    alike: bool
    """Whether no model met any other attack or input."""

    @property
    def near(self) -> list[str]:
        """Models whose interval overlaps with that of the best."""
        return [one.model.name for one in self.ranked[1:] if one.high >= self.ranked[0].low]


def comparisons(data: Evidence) -> list[Comparison]:
    """One comparison per task on which two or more models were attacked."""
    attacked = [model for model in data.models if model.of_goal("fickle")]
    tasks = dict.fromkeys(model.task for model in attacked)
    groups = {task: [model for model in attacked if model.task == task] for task in tasks}
    return [_compared(task, group) for task, group in groups.items() if len(group) > 1]


def one_ranking(data: Evidence) -> bool:
    """Whether all attacked models can stand in one ranking: one task, the same attacks and inputs."""
    attacked = [model for model in data.models if model.of_goal("fickle")]
    found = comparisons(data)
    return len(attacked) < 2 or (len(found) == 1 and found[0].alike and len(found[0].models) == len(attacked))


def _compared(task: str, models: Sequence[ModelEvidence]) -> Comparison:
    met = [{_met(one): one for one in model.of_goal("fickle")} for model in models]
    common = [key for key in met[0] if all(key in own for own in met)]
    ranked = [
        Ranked(model, min((own[key] for key in common), key=lambda one: one.rate("racc")["value"]))
        for model, own in zip(models, met, strict=True)
        if common
    ]
    ranked.sort(key=lambda one: -one.worst.rate("racc")["value"])
    shared = tuple(met[0][key].name for key in common)
    return Comparison(task, tuple(models), tuple(ranked), shared, all(len(own) == len(common) for own in met))


def _met(attack: Attack) -> Met:
    recipe = attack.about["recipe"]
    how = [recipe["name"], recipe.get("settings"), attack.about.get("limits"), attack.about.get("sizes")]
    inputs = Counter((one.original, one.truth) for one in attack.outcomes)
    return json.dumps(how, sort_keys=True, default=str), hash(frozenset(inputs.items()))
