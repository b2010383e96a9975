"""A benchmark plan: tasks, defences, attacks, certificates and seeds, as frozen dataclasses.

Models are tasks × defences × seeds; a defence with a ``grid`` stands for one model per combination of its
values. ``for`` restricts a part to some of the defences. A name means the same as on the command line. Plans
are read and checked by :mod:`unfooled.benchmarks.plan_file`; docs/plans.md has the format.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from unfooled.certificates.sampling import Reading, Sampling
from unfooled.hub.devices import check_precision
from unfooled.parsing import plain
from unfooled.settings import key_of, setting
from unfooled.storage.config import TrainConfig, make_config
from unfooled.training.data import with_defaults

Only = str | tuple[str, ...] | None


@dataclass(frozen=True)
class TaskPlan:
    """A named task or files, and how they are read: fields of :class:`TrainConfig`."""

    name: str
    values: dict[str, Any]


@dataclass(frozen=True)
class DefencePlan:
    """A model to train for every task and seed, or several of them: a grid."""

    short: ClassVar[str] = "name"

    name: str = setting(MISSING, "Name of the model")
    defence: str = setting("", "Registered defence; the name if not given. Several models may share one")
    start_from: str | None = setting(None, "Train from the weights of this model of the same task and seed")
    train: dict[str, Any] = setting(dict, "Settings of the training that only this model has")
    settings: dict[str, Any] = setting(dict, "Settings of the defence")
    grid: dict[str, Any] = setting(dict, "Settings with lists of values: one model per combination")
    predictor: dict[str, Any] = setting(
        dict, "Predictor (`name` and settings) under which it is attacked, certified and repeated"
    )
    attack_predictor: dict[str, Any] = setting(
        dict, "Changes of that predictor under attack, e.g. `output: mean-logit`"
    )

    def __post_init__(self) -> None:
        _fill(self, defence=self.name)


@dataclass(frozen=True)
class AttackPlan:
    """One attack on every model, or on those named by ``for``."""

    short: ClassVar[str] = "recipe"

    recipe: str = setting(MISSING, "Recipe (`unfooled attack --list`)")
    name: str = setting("", "Name of the attack; the recipe if not given")
    only: Only = setting(None, "Defences that are attacked; all if not given", key="for")
    limit: int | None = setting(200, "Inputs; null: all", at_least=1)
    inputs: dict[str, Any] = setting(
        dict, "Other inputs than the test texts: `data`, `label_column`, … With an empty `data`, no attack"
    )
    settings: dict[str, Any] = setting(dict, "Settings of the recipe")
    sizes: tuple[float, ...] = setting((), "Sizes of an attack on images (ε), each of which is tried")
    limits: dict[str, Any] = setting(dict, "Limits of every attack: `query_budget`, `max_changed`, …")
    predictor: dict[str, Any] = setting(dict, "Changes of the model's predictor for this attack")
    tools: dict[str, Any] = setting(dict, "Models that serve the recipes: `similarity`, `masked_lm`, …")
    precision: str = setting(
        "float32",
        "Arithmetic of the search in texts: float32, bf16 or auto. Successes are confirmed in float32",
    )
    source: str | None = setting(
        None, "Model of the plan, of the same task and seed, on which a transfer attack crafts its images"
    )

    def __post_init__(self) -> None:
        check_precision(self.precision)
        _fill(self, name=self.recipe)


@dataclass(frozen=True, kw_only=True)
class CertificatePlan(Sampling, Reading):
    """One certification of the models named by ``for``, or of all that are trained for the threat."""

    short: ClassVar[str] = "threat"

    threat: str = setting(MISSING, "Threat to certify against")
    name: str = setting("", "Name of the certificate; the threat if not given")
    only: Only = setting(None, "Defences; those trained for the threat if not given", key="for")
    limit: int | None = setting(100, "Inputs; null: all", at_least=1)
    bounds: tuple[str, ...] = setting((), "Bounds computed from the same votes; the first is certified")
    predictor: dict[str, Any] = setting(dict, "Changes of the model's predictor for this certificate")

    def __post_init__(self) -> None:
        super().__post_init__()
        _fill(self, name=self.threat)

    def part(self, cls: type[Any]) -> Any:
        """The :class:`Sampling` or :class:`Reading` in it."""
        return cls(**{f.name: getattr(self, f.name) for f in fields(cls)})


@dataclass(frozen=True)
class RepeatPlan:
    """Repeated evaluation of the same inputs."""

    only: Only = setting(None, "Defences that are evaluated; all if not given", key="for")
    repeats: int = setting(100, "Independent evaluations", at_least=1, at_most=100_000)
    limit: int | None = setting(200, "Inputs; null: all", at_least=1)


@dataclass(frozen=True)
class RepresentationsPlan:
    """Hidden states of clean and attacked texts."""

    only: Only = setting(None, "Defences whose hidden states are compared; all if not given", key="for")
    limit: int | None = setting(100, "Inputs per attack; null: all", at_least=1)


@dataclass(frozen=True)
class Figure:
    """A published result, in percent as the paper has it."""

    short: ClassVar[str] = "task"

    task: str = setting(MISSING, "Task of the plan")
    model: str = setting(MISSING, "Model as the paper calls it")
    defence: str | None = setting(None, "Defence of the plan it is shown beside")
    attack: str | None = setting(None, "Recipe")
    sacc: float | None = setting(None, "Accuracy without attack, percent", at_least=0, at_most=100)
    racc: float | None = setting(None, "Accuracy under attack, percent", at_least=0, at_most=100)
    asr: float | None = setting(None, "Attack success rate, percent", at_least=0, at_most=100)
    avgq: float | None = setting(None, "Queries per attacked input", at_least=0)
    certificate: str | None = setting(None, "Certificate of the plan")
    radius: float | None = setting(None, "Radius at which accuracy is certified", at_least=0)
    bound: str | None = setting(None, "Bound that it is certified by; the first one if not given")
    certified: float | None = setting(None, "Accuracy certified there, percent", at_least=0, at_most=100)
    note: str | None = setting(None, "What should be known about it")


@dataclass(frozen=True)
class Published:
    """Figures of a paper that are shown beside ours."""

    source: str = setting(MISSING, "Where the figures come from")
    note: str | None = setting(None, "How they were measured")
    figures: tuple[Figure, ...] = setting((), "The figures")


@dataclass(frozen=True)
class Plan:
    """A whole plan."""

    name: str = setting(MISSING, "Name of the plan")
    tasks: tuple[TaskPlan, ...] = setting(MISSING, "What is trained on")
    defences: tuple[DefencePlan, ...] = setting(MISSING, "The models")
    attacks: tuple[AttackPlan, ...] = setting((), "Attacks on them")
    certificates: tuple[CertificatePlan, ...] = setting((), "Certificates of them")
    repeat: RepeatPlan | None = setting(None, "Repeated evaluation")
    representations: RepresentationsPlan | None = setting(None, "Hidden states of clean and attacked texts")
    seeds: tuple[int, ...] = setting((0,), "Every model is trained once per seed")
    train: dict[str, Any] = setting(dict, "Settings of the training that all models share")
    published: Published | None = setting(None, "Published figures to show beside ours")
    description: str = setting("", "What the plan is for")
    scale: float = setting(1.0, "By how much its sizes were cut already", at_most=1)

    def config(
        self, task: TaskPlan, defence: DefencePlan, seed: int, *, encoder: Path | None = None
    ) -> TrainConfig:
        """How a model is trained; ``encoder`` is the run that it starts from."""
        values = {**self.train, **task.values, **defence.train, "seed": seed}
        if encoder is not None:
            values["encoder"] = str(encoder)
        made = make_config({**values, "defence": defence.defence, "settings": defence.settings})
        return with_defaults(made)

    def to_dict(self) -> dict[str, Any]:
        """The plan as a file holds it; what is empty or the default is left out."""
        values = _written(self)
        values["tasks"] = [{"name": task.name, **plain(task.values)} for task in self.tasks]
        return {"name": self.name, "seeds": list(self.seeds), **values}


def _written(part: Any) -> dict[str, Any]:
    """Names and values of a part as a file has them, without what is empty or the default."""

    def one(value: Any) -> Any:
        return _written(value) if is_dataclass(value) else plain(value)

    found = {}
    for f in fields(part):
        value = getattr(part, f.name)
        if value not in ({}, ()) and value != f.default:
            found[key_of(f)] = [one(item) for item in value] if isinstance(value, tuple) else one(value)
    return found


def _fill(part: Any, **defaults: str) -> None:
    """Empty names of a frozen part take a default."""
    for name, value in defaults.items():
        if not getattr(part, name):
            object.__setattr__(part, name, value)


LEAST = {
    "limit": 500,
    "limit_dev": 50,
    "limit_test": 50,
    "inputs": 10,
    "n0": 20,
    "n": 200,
    "repeats": 3,
}
"""What a scaled plan keeps: training, dev and test texts; inputs of an attack or a measurement; draws of a
certificate; repeats."""
_SPLITS = {"limit": "train", "limit_dev": "dev", "limit_test": "test"}


def scaled(plan: Plan, scale: float) -> Plan:
    """A trial: all sizes times ``scale``; data without a limit are read to know their size."""
    if scale == 1:
        return plan
    sizes = cache(lambda name: _sizes(plan, next(task for task in plan.tasks if task.name == name)))

    def less(value: int, kind: str) -> int:
        return min(value, max(LEAST[kind], round(value * scale)))

    def inputs(part: Any, **more: int) -> Any:
        limit = max(sizes(task.name)["test"] for task in plan.tasks) if part.limit is None else part.limit
        return replace(part, limit=less(limit, "inputs"), **more)

    def of_task(task: TaskPlan) -> TaskPlan:
        given = {key: task.values.get(key) or plan.train.get(key) for key in _SPLITS}
        limits = {key: less(value or sizes(task.name)[_SPLITS[key]], key) for key, value in given.items()}
        return replace(task, values={**task.values, **limits})

    return replace(
        plan,
        train={key: value for key, value in plan.train.items() if key not in _SPLITS},
        tasks=tuple(of_task(task) for task in plan.tasks),
        defences=tuple(
            replace(one, train=one.train | ({"limit": less(one.train["limit"], "limit")}))
            if one.train.get("limit")
            else one
            for one in plan.defences
        ),
        attacks=tuple(inputs(one) for one in plan.attacks),
        certificates=tuple(
            inputs(one, n0=less(one.n0, "n0"), n=less(one.n, "n")) for one in plan.certificates
        ),
        repeat=plan.repeat and inputs(plan.repeat, repeats=less(plan.repeat.repeats, "repeats")),
        representations=plan.representations and inputs(plan.representations),
        scale=round(plan.scale * scale, 9),
    )


def _sizes(plan: Plan, task: TaskPlan) -> dict[str, int]:
    """Inputs of each split of a task, all of them."""
    from unfooled.training.data import has_images, load_data, load_image_task

    config = plan.config(task, plan.defences[0], plan.seeds[0])
    whole = replace(config, limit=None, limit_dev=None, limit_test=None)
    return (load_image_task(whole) if has_images(whole) else load_data(whole)).sizes()
