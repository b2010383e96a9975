"""Grids: a defence with lists of values for some settings stands for one model per combination.

A name means a setting of the defence (of ``a+b``, of the part that has it, or ``part.setting``), else one of
the training; ``train.warmup`` means the latter where both have the name. Every combination is checked, and
described by the values as they were understood.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product

from unfooled.benchmarks.plan import DefencePlan, Plan
from unfooled.errors import UsageError, did_you_mean
from unfooled.parsing import parse_yaml, plain, quoted
from unfooled.storage.config import TrainConfig

DATA = ("task", "data", "dev_data", "test_data", "text_column", "pair_column", "label_column", "labels")
_NOT_VARIED = {*DATA, "encoding", "limit_dev", "limit_test", "settings", "device"}


MOST_MODELS = 1000
"""Models that one grid may stand for."""


@dataclass(frozen=True)
class PlannedModel:
    """One model of a plan: its defence without the grid, and what the grid sets."""

    plan: DefencePlan
    of: str
    """The name of the defence in the plan."""
    values: dict[str, object] = field(default_factory=dict)


def parse_grid(axes: Sequence[str]) -> dict[str, list[object]]:
    """``["sigma=0.1,0.2", "noise_layers=[0,2],[3,4]"]`` as names and lists of values, read as YAML."""
    grid: dict[str, list[object]] = {}
    for text in axes:
        name, _, values = (part.strip() for part in text.partition("="))
        if not name or not values:
            raise UsageError(f"--grid {text!r}: expected name=values, for example --grid sigma=0.1,0.2,0.4.")
        if name in grid:
            raise UsageError(f"--grid {name} is given twice. Put all its values after one {name}=.")
        try:
            found = parse_yaml(f"[{values}]", f"--grid {name}")
        except UsageError as error:
            raise UsageError(
                f"--grid {quoted(text)}: the values cannot be read. Separate them with commas, lists in "
                "brackets: noise_layers=[0,2,4],[3,4,5]."
            ) from error
        grid[name] = found
    return grid


def models_of(plan: Plan, defence: DefencePlan) -> list[PlannedModel]:
    """The models of a defence: one, or one per combination of its grid."""
    if not defence.grid:
        return [PlannedModel(defence, defence.name)]
    found: dict[str, PlannedModel] = {}
    axes = [value if isinstance(value, list | tuple) else [value] for value in defence.grid.values()]
    if (count := math.prod(map(len, axes))) > MOST_MODELS:
        raise UsageError(f"grid: {count:,} models; at most {MOST_MODELS:,} are planned at once.")
    for chosen in product(*axes):
        model = _model(plan, defence, dict(zip(defence.grid, chosen, strict=True)))
        if model.plan.name in found:
            raise UsageError(f"grid: {model.plan.name} comes up twice. Name each value once.")
        found[model.plan.name] = model
    if not found:
        raise UsageError("grid: a name without values. Give at least one value for each name.")
    return list(found.values())


def model_name(defence: str, values: Mapping[str, object]) -> str:
    """A name to read in a folder: ``rsmi,sigma=0.2,masked_tokens=1``."""
    name = ",".join([defence, *(f"{key}={shown(value)}" for key, value in values.items())])
    safe = re.sub(r"[^\w.+=,\[\]-]", "-", name, flags=re.ASCII)
    if safe == name and len(name) <= 150:
        return name
    return f"{safe[:120]}~{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def shown(value: object) -> str:
    """A setting as one would type it."""
    if isinstance(value, list | tuple):
        return f"[{','.join(map(shown, value))}]"
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    return str(value)


def _model(plan: Plan, defence: DefencePlan, chosen: Mapping[str, object]) -> PlannedModel:
    from unfooled.defences import make_defence, setting_meant, settings_of

    registered = str(chosen.get("defence", defence.defence))
    own = {name: meant for name in chosen if (meant := setting_meant(registered, name))}
    fixed = {name: setting_meant(registered, name) or name for name in defence.settings}
    every = [*own.values(), *(fixed[name] for name in fixed if name not in chosen)]
    if len(set(every)) < len(every):
        names = ", ".join([*own, *fixed])
        raise UsageError(f"grid: two of these names mean one setting: {names}. Name each once.")
    settings = {fixed[name]: value for name, value in defence.settings.items()}
    train = dict(defence.train)
    for name, value in chosen.items():
        if name in own:
            settings[own[name]] = value
        elif name != "defence":
            known = set(settings_of(make_defence(registered)))
            train[_trained(name, registered, known)] = value
    made = replace(defence, defence=registered, settings=settings, train=train, grid={})
    config = plan.config(plan.tasks[0], made, plan.seeds[0])
    built = settings_of(make_defence(config.defence, config.settings))
    values = {
        name: plain(built[own[name]] if name in own else getattr(config, name.removeprefix("train.")))
        for name in chosen
    }
    settings |= {own[name]: value for name, value in values.items() if name in own}
    name = model_name(defence.name, values)
    return PlannedModel(replace(made, name=name, settings=settings), defence.name, values)


def _trained(name: str, defence: str, own: set[str]) -> str:
    """The setting of the training that an axis means, or a refusal."""
    bare = name.removeprefix("train.")
    trained = {f.name for f in fields(TrainConfig)}
    if bare == "seed":
        raise UsageError(
            "grid: seed: give the seeds as seeds: [0, 1, 2] or --seeds 0,1,2; their mean and spread are "
            "reported."
        )
    if bare in _NOT_VARIED:
        raise UsageError(f"grid: {name}: all models must be measured in the same way; {bare} cannot vary.")
    if bare not in trained:
        known = sorted(own | trained - _NOT_VARIED - {"seed"})
        bare_names = {one.rpartition(".")[2] for one in own}
        raise UsageError(
            f"grid: {name}: neither defence '{defence}' nor the training has this setting."
            f"{did_you_mean(name, {*known, *bare_names})} Settings: {', '.join(known)}."
        )
    return bare


def all_models(plan: Plan) -> Iterator[PlannedModel]:
    """The models of a plan in order."""
    for defence in plan.defences:
        yield from models_of(plan, defence)
