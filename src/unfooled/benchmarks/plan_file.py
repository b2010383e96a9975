"""Plans from YAML: found by path or as a preset, variables filled in, every name and number checked.

A preset is a plan in ``unfooled/presets``; adding one is adding its file. ``${name}`` stands for a variable
that the plan declares under ``variables`` with its default; one without a default must be given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from importlib import resources
from pathlib import Path
from typing import Any

from unfooled.benchmarks.plan import (
    AttackPlan,
    DefencePlan,
    Plan,
    RepeatPlan,
    RepresentationsPlan,
    TaskPlan,
)
from unfooled.benchmarks.plan_checks import certificate_part, check_recipe, published_part
from unfooled.benchmarks.plan_values import (
    at,
    check_defence,
    check_name,
    check_seeds,
    check_unique,
    entries,
    mapping,
    plain,
    section,
    share,
)
from unfooled.errors import UsageError
from unfooled.settings import check_names, choose
from unfooled.storage.config import TrainConfig, read_config

_DATA = ("task", "data", "dev_data", "test_data", "text_column", "pair_column", "label_column", "labels")
_ELSEWHERE = ("defence", "settings", "seed")
_TRAINED = [f.name for f in fields(TrainConfig) if f.name not in _ELSEWHERE]
_COMMON = [name for name in _TRAINED if name not in (*_DATA, "encoding")]
# Defences of a task are measured on the same texts.
_OF_DEFENCE = [name for name in _COMMON if name not in ("limit_dev", "limit_test", "device")]
_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)\}")


def presets() -> dict[str, str]:
    """The presets and what they are."""
    found = {}
    for file in sorted(_preset_folder().iterdir(), key=lambda file: file.name):
        if file.name.endswith(".yaml"):
            values = read_config(Path(str(file)))
            found[file.name.removesuffix(".yaml")] = " ".join(str(values.get("description", "")).split())
    return found


def read_plan(
    plan: str | Path | Mapping[str, Any] | None = None,
    *,
    preset: str | None = None,
    variables: Mapping[str, Any] | None = None,
) -> Plan:
    """The plan in a file, the preset of a name, or a plan as a dictionary, checked."""
    if (plan is None) == (preset is None):
        raise UsageError("Name a plan: either the YAML file of one or --preset NAME (see --list).")
    if isinstance(plan, Mapping):
        return make_plan(filled(plain(plan), variables or {}, "the plan"))
    if preset is not None:
        choose(dict.fromkeys(presets()), preset, kind="preset")
        path, source = Path(str(_preset_folder() / f"{preset}.yaml")), f"preset {preset}"
    else:
        path, source = Path(str(plan)), str(plan)
        if path.is_dir():
            raise UsageError(f"{path} is a folder. Name a plan, e.g. {path / 'plan.yaml'}.")
    return make_plan(filled(read_config(path), variables or {}, source), source=source)


def filled(values: dict[str, Any], given: Mapping[str, Any], source: str) -> dict[str, Any]:
    """The plan with ``${name}`` replaced; a value that is nothing else keeps its type."""
    values = dict(values)
    declared = mapping(values.pop("variables", None), f"{source}: variables")
    for name in given:
        if name not in declared:
            listed = ", ".join(declared) or "none"
            raise UsageError(f"--set {name}: {source} has no variable of this name. Its variables: {listed}.")
    known = {**declared, **given}

    def value_of(name: str) -> Any:
        if name not in known:
            raise UsageError(f"{source}: ${{{name}}} is not declared. Add it under variables: {{{name}: …}}.")
        if known[name] is None:
            raise UsageError(f"{source} needs a value for {name}: give it with --set {name}=….")
        return known[name]

    def replaced(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: replaced(item) for key, item in value.items()}
        if isinstance(value, list):
            return [replaced(item) for item in value]
        if not isinstance(value, str):
            return value
        whole = _VARIABLE.fullmatch(value)
        return value_of(whole[1]) if whole else _VARIABLE.sub(lambda found: str(value_of(found[1])), value)

    return {key: replaced(value) for key, value in values.items()}


def make_plan(values: Mapping[str, Any], *, source: str = "the plan") -> Plan:
    """A plan from names and values; ``source`` is what messages name."""
    values = plain(values)
    check_names(values, [f.name for f in fields(Plan)], source, noun="key")
    train = mapping(values.get("train"), f"{source}: train")
    check_names(train, _COMMON, f"{source}: train", noun="key")
    tasks = [_task(one, where) for where, one in entries(values, "tasks", source, "name", least=1)]
    defences = [_defence(one, where) for where, one in entries(values, "defences", source, "name", least=1)]
    for key, parts in (("tasks", tasks), ("defences", defences)):
        check_unique(parts, f"{source}: {key}")
    defences = _ordered(defences, source)
    names = [one.name for one in defences]
    attacks = []
    for where, one in entries(values, "attacks", source, "recipe"):
        attacks.append(section(AttackPlan, one, where, names, name_from="recipe"))
        check_recipe(attacks[-1], where)
    certificates = [
        certificate_part(one, where, defences)
        for where, one in entries(values, "certificates", source, "threat")
    ]
    for defence in names:
        for key, chosen in (("attacks", attacks), ("certificates", certificates)):
            check_unique([one for one in chosen if defence in one.only], f"{source}: {key}")

    def optional(cls: type[Any], key: str) -> Any:
        place = f"{source}: {key}"
        return None if values.get(key) is None else section(cls, mapping(values[key], place), place, names)

    plan = Plan(
        name=check_name(values.get("name"), f"{source}: name"),
        tasks=tuple(tasks),
        defences=tuple(defences),
        attacks=tuple(attacks),
        certificates=tuple(certificates),
        repeat=optional(RepeatPlan, "repeat"),
        representations=optional(RepresentationsPlan, "representations"),
        seeds=check_seeds(values.get("seeds", [0]), f"{source}: seeds"),
        train=train,
        published=published_part(values.get("published"), f"{source}: published"),
        description=" ".join(str(values.get("description") or "").split()),
        scale=share(values.get("scale", 1), f"{source}: scale"),
    )
    for task in plan.tasks:
        for defence_ in plan.defences:
            with at(f"{source}: {task.name}, {defence_.name}"):
                plan.config(task, defence_, plan.seeds[0])
    if plan.representations and not plan.attacks:
        raise UsageError(f"{source}: representations compares clean with attacked texts. Add attacks: [….]")
    return plan


def _task(values: dict[str, Any], where: str) -> TaskPlan:
    check_names(values, ["name", *_TRAINED], where, noun="key")
    name = check_name(values.pop("name", None), f"{where}: name")
    if values.get("task") is None and values.get("data") is None:
        values["task"] = name
    if values.get("task") is not None:
        from unfooled.data import get_task

        with at(where):
            get_task(str(values["task"]))
    return TaskPlan(name, values)


def _defence(values: dict[str, Any], where: str) -> DefencePlan:
    from unfooled.defences import make_defence

    made = section(DefencePlan, {"defence": values.get("name"), **values}, where)
    check_names(made.train, _OF_DEFENCE, f"{where}: train", noun="key")
    if made.start_from is not None and "encoder" in made.train:
        raise UsageError(f"{where}: start_from and train.encoder exclude each other. Leave one of them out.")
    with at(where):
        make_defence(made.defence, made.settings)
    return made


def _ordered(defences: list[DefencePlan], source: str) -> list[DefencePlan]:
    """The models, each after the one that it starts from."""
    by_name = {one.name: one for one in defences}
    done: dict[str, DefencePlan] = {}
    for one in defences:
        chain = [one]
        while chain[-1].start_from is not None:
            check_defence(chain[-1].start_from, f"{source}: {chain[-1].name}: start_from", list(by_name))
            before = by_name[chain[-1].start_from]
            if before in chain:
                raise UsageError(
                    f"{source}: {one.name} starts from itself "
                    f"({' ← '.join(link.name for link in [*chain, before])}). Take one start_from out."
                )
            chain.append(before)
        done.update({link.name: link for link in reversed(chain) if link.name not in done})
    return list(done.values())


def _preset_folder() -> Any:
    return resources.files("unfooled.benchmarks") / "presets"
