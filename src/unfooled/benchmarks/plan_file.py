"""Plans from YAML: found by path or as a preset, variables filled in, every name and number checked.

A preset is a plan in ``unfooled/benchmarks/presets``; adding one is adding its file. ``${name}`` stands for a
variable that the plan declares under ``variables`` with its default; one without a default must be given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from importlib import resources
from pathlib import Path
from typing import Any

from unfooled.benchmarks.grid import DATA, models_of
from unfooled.benchmarks.plan import AttackPlan, CertificatePlan, DefencePlan, Plan
from unfooled.errors import UsageError, did_you_mean
from unfooled.files import read_yaml
from unfooled.parsing import plain
from unfooled.settings import LARGEST_SEED, build, check_names, check_whole, choose
from unfooled.storage.config import TrainConfig

_ELSEWHERE = ("defence", "settings", "seed")
_TRAINED = [f.name for f in fields(TrainConfig) if f.name not in _ELSEWHERE]
_COMMON = [name for name in _TRAINED if name not in (*DATA, "encoding")]
# Defences of a task are measured on the same texts.
_OF_DEFENCE = [name for name in _COMMON if name not in ("limit_dev", "limit_test", "device")]
_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)\}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,59}")


def presets() -> dict[str, str]:
    """The presets and what they are."""
    found = {}
    for file in sorted(_preset_folder().iterdir(), key=lambda file: file.name):
        if file.name.endswith(".yaml"):
            values = read_yaml(Path(str(file)))
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
    return make_plan(filled(read_yaml(path), variables or {}, source), source=source)


def filled(values: dict[str, Any], given: Mapping[str, Any], source: str) -> dict[str, Any]:
    """The plan with ``${name}`` replaced; a value that is nothing else keeps its type."""
    values = dict(values)
    declared = values.pop("variables", None) or {}
    if not isinstance(declared, dict):
        raise UsageError(f"{source}: variables must hold names and values, got {declared!r}.")
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
    given = {key: value for key, value in plain(values).items() if value is not None or key == "name"}
    for key in ("tasks", "defences"):
        if not given.get(key) and not isinstance(given.get(key), str):
            raise UsageError(f"{source}: {key} is missing. Name at least one: {key}: [{{name: …}}, …].")
    if isinstance(given["tasks"], list):
        given["tasks"] = [_task(one, f"{source}: tasks[{n}]") for n, one in enumerate(given["tasks"])]
    given["seeds"] = _seeds(given.get("seeds", [0]), f"{source}: seeds")
    plan = build(Plan, given, owner=source, noun="key")
    _check_name(plan.name, f"{source}: name")
    if not plan.scale > 0:
        raise UsageError(f"{source}: scale must be above 0, got {plan.scale}.")
    check_names(plan.train, _COMMON, f"{source}: train", noun="key")
    for key in ("tasks", "defences"):
        _check_unique(getattr(plan, key), f"{source}: {key}")
    for number, defence in enumerate(plan.defences):
        _check_defence(defence, f"{source}: defences[{number}]")
    defences = _ordered(plan.defences, source)
    attacks = []
    for number, attack in enumerate(plan.attacks):
        where = f"{source}: attacks[{number}]"
        if attack.inputs.get("data") == "":
            continue  # the file is a variable of the plan, and nobody named one
        _check_attack(attack, where)
        _check_source(attack, defences, where)
        if attack.source is not None and attack.only is None:
            attack = replace(attack, only=tuple(d.name for d in defences if d.name != attack.source))
        attacks.append(_for(attack, defences, where))
    certificates = [
        _certificate(one, f"{source}: certificates[{number}]", defences)
        for number, one in enumerate(plan.certificates)
    ]
    for one in defences:
        for key, parts in (("attacks", attacks), ("certificates", certificates)):
            _check_unique([part for part in parts if one.name in (part.only or ())], f"{source}: {key}")
    if plan.representations and not attacks:
        raise UsageError(f"{source}: representations compares clean with attacked texts. Add attacks: [….]")
    plan = replace(
        plan,
        description=" ".join(plan.description.split()),
        defences=tuple(defences),
        attacks=tuple(attacks),
        certificates=tuple(certificates),
        repeat=plan.repeat and _for(plan.repeat, defences, f"{source}: repeat"),
        representations=plan.representations
        and _for(plan.representations, defences, f"{source}: representations"),
    )
    for task in plan.tasks:
        for defence in plan.defences:
            with _at(f"{source}: {task.name}, {defence.name}"):
                plan.config(task, defence, plan.seeds[0])
                models_of(plan, defence)
    return plan


def _task(values: Any, where: str) -> dict[str, Any]:
    """A task of a plan: its name, and what the file says about it as fields of :class:`TrainConfig`."""
    if not isinstance(values, dict):
        values = {"name": values}
    values = dict(values)
    check_names(values, ["name", *_TRAINED], where, noun="key")
    name = _check_name(values.pop("name", None), f"{where}: name")
    if values.get("task") is None and values.get("data") is None:
        values["task"] = name
    if values.get("task") is not None:
        from unfooled.data import get_task
        from unfooled.data.images import is_image_task

        with _at(where):
            if not is_image_task(str(values["task"])):
                get_task(str(values["task"]))
    return {"name": name, "values": values}


def _check_defence(defence: DefencePlan, where: str) -> None:
    from unfooled.defences import make_defence

    _check_name(defence.name, f"{where}: name")
    check_names(defence.train, _OF_DEFENCE, f"{where}: train", noun="key")
    if defence.start_from is not None and "encoder" in defence.train:
        raise UsageError(f"{where}: give start_from or train.encoder, not both.")
    with _at(where):
        make_defence(defence.defence, defence.settings)


def _check_attack(attack: AttackPlan, where: str) -> None:
    """The recipe, its settings, the limits and the tools, by name, type and range."""
    from unfooled.attacks import Limits, any_recipe
    from unfooled.attacks.tools import Tools
    from unfooled.data.inputs import Inputs

    _check_name(attack.name, f"{where}: name")
    with _at(where):
        any_recipe(attack.recipe, attack.settings)
        build(Limits, attack.limits, owner="limits")
        build(Inputs, attack.inputs, owner="inputs")
        build(Tools, attack.tools, owner="tools")


def _check_source(attack: AttackPlan, defences: Sequence[DefencePlan], where: str) -> None:
    """A transfer attack may name one model of the plan as its source."""
    from unfooled.attacks import any_recipe

    recipe = any_recipe(attack.recipe, attack.settings)
    if attack.source is None:
        if getattr(recipe, "source", "") is None and "source" in getattr(recipe, "needs", ()):
            raise UsageError(f"{where}: {attack.recipe} needs a model of the plan to craft on: source: NAME.")
        return
    where = f"{where}: source"
    if not hasattr(recipe, "source"):
        raise UsageError(f"{where}: {attack.recipe} crafts on the model it attacks. Take source out.")
    if attack.settings.get("source") is not None:
        raise UsageError(f"{where}: settings names another source. Give one of the two.")
    _known(attack.source, where, [one.name for one in defences])
    if next(one for one in defences if one.name == attack.source).grid:
        raise UsageError(f"{where}: {attack.source} has a grid, so it is several models. Name another.")


def _certificate(part: CertificatePlan, where: str, defences: Sequence[DefencePlan]) -> CertificatePlan:
    """A certificate; without ``for`` it is for the models trained for its threat."""
    from unfooled.certificates.threats import TEXT
    from unfooled.defences import training_for, trains_for

    _check_name(part.name, f"{where}: name")
    with _at(where):
        TEXT.choose(part.threat)
    if part.only is not None:
        return _for(part, defences, where)
    trained = tuple(one.name for one in defences if trains_for(one.defence, part.threat))
    if not trained:
        raise UsageError(
            f"{where}: no defence of the plan is trained for the threat {part.threat}. Add "
            f"{' or '.join(training_for(part.threat))}, or name defences all the same with "
            f"for: [{', '.join(one.name for one in defences)}]."
        )
    return replace(part, only=trained)


def _for(part: Any, defences: Sequence[DefencePlan], where: str) -> Any:
    """The part with the defences that ``for`` means, in the order of the plan; all if it is not given."""
    names = [one.name for one in defences]
    if part.only is None:
        return replace(part, only=tuple(names))
    chosen = [part.only] if isinstance(part.only, str) else part.only
    if not chosen:
        raise UsageError(f"{where}: for must be a list of defences of this plan: {', '.join(names)}.")
    for name in chosen:
        _known(name, f"{where}: for", names)
    return replace(part, only=tuple(name for name in names if name in chosen))


def _ordered(defences: Sequence[DefencePlan], source: str) -> list[DefencePlan]:
    """The defences, each after the one that it starts from."""
    by_name = {one.name: one for one in defences}
    done: dict[str, DefencePlan] = {}
    for one in defences:
        chain = [one]
        while (start := chain[-1].start_from) is not None:
            where = f"{source}: {chain[-1].name}: start_from"
            _known(start, where, list(by_name))
            before = by_name[start]
            if before in chain:
                raise UsageError(
                    f"{source}: {one.name} starts from itself "
                    f"({' ← '.join(link.name for link in [*chain, before])}). Take one start_from out."
                )
            if before.grid:
                raise UsageError(f"{where}: {start} has a grid, so it is several models. Start from another.")
            chain.append(before)
        done.update({link.name: link for link in reversed(chain) if link.name not in done})
    return list(done.values())


def _known(name: str, where: str, defences: Sequence[str]) -> None:
    if name not in defences:
        hint = did_you_mean(name, defences)
        raise UsageError(
            f"{where}: the plan has no defence {name!r}.{hint} Its defences: {', '.join(defences)}."
        )


def _check_name(name: Any, where: str) -> str:
    """A name that can be part of a folder's."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise UsageError(
            f"{where} must be a short name of letters, digits and . _ + - (it names folders), got {name!r}."
        )
    return name


def _check_unique(parts: Sequence[Any], where: str) -> None:
    names = [part.name for part in parts]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{where}: the name '{name}' is given twice. Give each its own with name: ….")


def _seeds(value: Any, where: str) -> list[int]:
    seeds = value if isinstance(value, list) else [value]
    for seed in seeds:
        check_whole(where, seed, at_least=0, at_most=LARGEST_SEED)
    if not seeds or None in seeds or len(set(seeds)) != len(seeds):
        raise UsageError(f"{where} must be different whole numbers from 0, for example [0, 1, 2].")
    return seeds


@contextmanager
def _at(where: str) -> Iterator[None]:
    """Puts the place before the message of whatever is refused inside."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error


def _preset_folder() -> Any:
    return resources.files("unfooled.benchmarks") / "presets"
