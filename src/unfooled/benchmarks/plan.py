"""A benchmark plan: tasks, defences, attacks, certificates and seeds, as frozen dataclasses.

The grid is tasks × defences × seeds; ``for`` (here ``only``) restricts a part to some of the defences. A name
means the same as on the command line. Plans are read and checked by :mod:`unfooled.benchmarks.plan_file`;
docs/benchmark.md shows the format.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from unfooled.benchmarks.plan_values import plain
from unfooled.settings import setting
from unfooled.storage.config import TrainConfig, make_config


@dataclass(frozen=True)
class TaskPlan:
    """A named task or files, and how they are read: fields of :class:`TrainConfig`."""

    name: str
    values: dict[str, Any]


@dataclass(frozen=True)
class DefencePlan:
    """A model to train for every task and seed."""

    name: str
    defence: str
    """The registered defence; several models may share one."""
    start_from: str | None = None
    """Train from the weights of this model of the same task and seed."""
    train: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    predictor: dict[str, Any] = field(default_factory=dict)
    """Predictor under which it is attacked, certified and repeated: ``name`` and settings."""
    attack_predictor: dict[str, Any] = field(default_factory=dict)
    """Changes of that predictor under attack, e.g. ``output: mean-logit``."""


@dataclass(frozen=True)
class AttackPlan:
    """One attack on every model, or on those named by ``for``."""

    recipe: str
    name: str
    only: tuple[str, ...]
    limit: int | None = setting(200, "Inputs; null: all", at_least=1)
    settings: dict[str, Any] = field(default_factory=dict)
    limits: dict[str, Any] = field(default_factory=dict)
    tools: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CertificatePlan:
    """One certification of the models named by ``for``, or of all that are trained for the threat."""

    threat: str
    name: str
    only: tuple[str, ...]
    limit: int | None = setting(100, "Inputs; null: all", at_least=1)
    n0: int = setting(100, "Draws that choose the class", at_least=1)
    n: int = setting(10_000, "Draws that count its votes, at most", at_least=1)
    alpha: float = setting(0.001, "Probability that a certificate is wrong", at_least=1e-12, at_most=0.5)
    adaptive: bool = False
    radius: float | None = setting(None, "Ask only whether the radius is at least this", at_least=0)
    two_class: bool = False
    bounds: tuple[str, ...] = ()
    substitutes: str | None = None
    antonyms: bool = True
    predictor: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RepeatPlan:
    """Repeated evaluation of the same inputs."""

    only: tuple[str, ...]
    repeats: int = setting(100, "Independent evaluations", at_least=1)
    limit: int | None = setting(200, "Inputs; null: all", at_least=1)


@dataclass(frozen=True)
class RepresentationsPlan:
    """Hidden states of clean and attacked texts."""

    only: tuple[str, ...]
    limit: int | None = setting(100, "Inputs an attack; null: all", at_least=1)


@dataclass(frozen=True)
class Plan:
    """A whole plan; ``scale`` says by how much its sizes were cut already."""

    name: str
    tasks: tuple[TaskPlan, ...]
    defences: tuple[DefencePlan, ...]
    attacks: tuple[AttackPlan, ...] = ()
    certificates: tuple[CertificatePlan, ...] = ()
    repeat: RepeatPlan | None = None
    representations: RepresentationsPlan | None = None
    seeds: tuple[int, ...] = (0,)
    train: dict[str, Any] = field(default_factory=dict)
    published: dict[str, Any] | None = None
    description: str = ""
    scale: float = 1.0

    def config(
        self, task: TaskPlan, defence: DefencePlan, seed: int, *, encoder: Path | None = None
    ) -> TrainConfig:
        """How a model is trained; ``encoder`` is the run that it starts from."""
        values = {**self.train, **task.values, **defence.train, "seed": seed}
        if encoder is not None:
            values["encoder"] = str(encoder)
        return make_config({**values, "defence": defence.defence, "settings": defence.settings})

    def to_dict(self) -> dict[str, Any]:
        """The plan as a file holds it; what is empty is left out."""

        def written(part: Any) -> dict[str, Any]:
            values = {"for" if key == "only" else key: value for key, value in asdict(part).items()}
            defaults = {f.name: f.default for f in fields(part)}
            return {
                key: plain(value)
                for key, value in values.items()
                if value not in ({}, ()) and (key not in defaults or value != defaults[key])
            }

        values = {
            "name": self.name,
            "description": self.description,
            "scale": self.scale if self.scale != 1 else None,
            "seeds": list(self.seeds),
            "train": self.train,
            "tasks": [{"name": task.name, **task.values} for task in self.tasks],
            "defences": [written(one) for one in self.defences],
            "attacks": [written(one) for one in self.attacks],
            "certificates": [written(one) for one in self.certificates],
            "repeat": self.repeat and written(self.repeat),
            "representations": self.representations and written(self.representations),
            "published": self.published,
        }
        return {key: value for key, value in values.items() if value not in (None, "", {}, [])}
