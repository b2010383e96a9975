"""Which models may be compared under attack: those that met the same attacks on the same inputs.

Attacks are the same if recipe, settings and limits are; inputs are the same if texts and labels are. Models
of one task are compared by the attacks that all of them met, each by the worst of these. Having met the same
inputs, they are compared input by input: :func:`gains` over one model of the task, attack by attack.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from unfooled.records.evidence import Attack, Evidence, ModelEvidence
from unfooled.records.outcome import Outcome
from unfooled.reports.seeds import seed_of
from unfooled.statistics.paired import Difference, paired_difference

Met = tuple[str, int]
"""An attack and its inputs, as far as comparisons go."""


@dataclass(frozen=True)
class Ranked:
    """A model and the attack that leaves it the fewest right answers, of those that all models met."""

    model: ModelEvidence
    worst: Attack


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
        """Models over which the best one's gain, input by input, may be chance."""
        first, *others = self.ranked
        found = ((one, _difference(first.worst, one.worst)) for one in others)
        return [one.model.name for one, gain in found if gain is None or not gain.shown]


@dataclass(frozen=True)
class Gain:
    """How much more often a model is right under an attack than another one on the same inputs."""

    model: ModelEvidence
    over: ModelEvidence
    attack: Attack
    gain: Difference
    verified: Difference | None
    """The same if only re-verified successes count; None where neither model draws anything."""


def comparisons(data: Evidence) -> list[Comparison]:
    """One comparison per task on which two or more models were attacked."""
    attacked = [model for model in data.models if model.of_goal("fickle")]
    tasks = dict.fromkeys(model.task for model in attacked)
    groups = {task: [model for model in attacked if model.task == task] for task in tasks}
    return [_compared(task, group) for task, group in groups.items() if len(group) > 1]


def gains(data: Evidence, goal: str = "fickle") -> list[Gain]:
    """Every model against the plain one of its task and seed (else the first that was attacked alike)."""
    found = []
    attacked = [model for model in data.models if model.of_goal(goal)]
    for model in attacked:
        if (base := _base(model, attacked)) is None:
            continue
        met = {_met(one): one for one in base.of_goal(goal)}
        for one in model.of_goal(goal):
            other = met.get(_met(one))
            if other is not None and (gain := _difference(one, other)) is not None:
                drawn = one.randomised or other.randomised
                verified = _difference(one, other, verified=True) if drawn else None
                found.append(Gain(model, base, one, gain, verified))
    return found


def _base(model: ModelEvidence, attacked: Sequence[ModelEvidence]) -> ModelEvidence | None:
    """What a model is compared with: of its task and seed the first plain one, or the first; not itself."""
    alike = [one for one in attacked if (one.task, seed_of(one)) == (model.task, seed_of(model))]
    plain = [one for one in alike if one.defence == "standard"]
    (base, *_) = plain or alike
    return None if base is model else base


def _difference(one: Attack, other: Attack, *, verified: bool = False) -> Difference | None:
    """Right under the one attack less right under the other; what either could not attack is left out."""
    first, second = _right(one, verified), _right(other, verified)
    return paired_difference((first[key], second[key]) for key in first.keys() & second.keys())


def _right(attack: Attack, verified: bool) -> dict[Hashable, bool]:
    """By input, whether the answer stayed right: what RAcc counts. Equal inputs are numbered."""
    found: dict[Hashable, bool] = {}
    times: Counter[Hashable] = Counter()
    for one in attack.per_input:
        times[one.original, one.truth] += 1
        if one.attacked or one.status == "skipped":
            found[one.original, one.truth, times[one.original, one.truth]] = _stayed(one, verified)
    return found


def _stayed(one: Outcome, verified: bool) -> bool:
    return one.attacked and not (one.verified if verified else one.status == "success")


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
