"""What a report is about, as plain data: models with whatever was measured on them.

``unfooled.api.report`` reads it from folders; nothing here knows a model or a file format.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from unfooled.files import JsonMapping
from unfooled.records.certificate import Certificate
from unfooled.records.input_kind import things
from unfooled.records.outcome import Outcome
from unfooled.records.picture import Picture
from unfooled.records.results.trained_run import Run
from unfooled.records.summaries.image_summary import one_per_image
from unfooled.records.textattack_log import TextAttackResults


@dataclass(frozen=True)
class Attack:
    """One attack on one model; ``about`` and ``summary`` are those of ``attack.json``."""

    name: str
    folder: str
    summary: JsonMapping
    outcomes: Sequence[Outcome]
    labels: Sequence[str]
    about: JsonMapping
    other_predictor: str = ""
    """How the attacked predictor differs from the one the run was saved with."""
    does: str = ""
    """What its attacker does, in words; empty if the recipe does not say."""

    @property
    def goal(self) -> str:
        return str(self.summary["goal"])

    @property
    def randomised(self) -> bool:
        return bool(self.summary["randomised"])

    @property
    def per_input(self) -> Sequence[Outcome]:
        """One outcome per input: of images, which have one per size of the attack, that at the largest."""
        size = self.summary.get("size")
        return self.outcomes if size is None else one_per_image(self.outcomes, float(size))

    def rate(self, name: str, *, verified: bool = False) -> JsonMapping:
        """``racc`` or ``asr``; re-verified ones are the plain ones if the victim draws nothing."""
        return self.summary.get(f"{name}_verified", self.summary[name]) if verified else self.summary[name]


@dataclass(frozen=True)
class Certified:
    """One certification of one model; ``about`` and ``summary`` are those of ``certificate.json``."""

    threat: str
    folder: str
    summary: JsonMapping
    certificates: Sequence[Certificate]
    about: JsonMapping
    meaning: str
    """The changes that a radius of R covers, in words."""
    name: str = ""
    """The name of the result set, where the threat does not tell it apart."""

    def of(self, model: str) -> str:
        """What the certified model is called beside others."""
        return f"{model} ({self.name})" if self.name else model


@dataclass(frozen=True)
class NamedResult:
    """A repeated evaluation, a comparison of hidden states or an evaluation of questions: a document and
    the name of its result set."""

    name: str
    found: JsonMapping
    alone: bool = True
    """Whether the model has no other one."""

    def of(self, model: str) -> str:
        """What the model is called beside others."""
        return model if self.alone else f"{model} ({self.name})"


@dataclass(frozen=True)
class ModelEvidence:
    """One model; ``run`` is None for a victim of which only attacks or certificates are known."""

    name: str
    run: Run | None
    attacks: tuple[Attack, ...] = ()
    certified: tuple[Certified, ...] = ()
    repeated: tuple[NamedResult, ...] = ()
    representations: tuple[NamedResult, ...] = ()
    pictures: tuple[Picture, ...] = ()
    """Images with the masks that its defence puts before them."""
    evaluated: tuple[NamedResult, ...] = ()
    """Of a run on questions: clean and adversarial files side by side."""
    not_its_own: tuple[str, ...] = ()
    """Results in its folder that were measured on other weights: not shown, and why."""

    @property
    def task(self) -> str:
        if self.run:
            return self.run.task
        sources = [one.about.get("source", "") for one in self.attacks]
        sources += [one.about.get("source", "") for one in self.certified]
        return str(sources[0]) if sources else ""

    @property
    def defence(self) -> str:
        return self.run.defence if self.run else ""

    @property
    def reads(self) -> str:
        """The kind of its inputs: text, question, image or tensor."""
        if self.run:
            return self.run.reads
        measured: tuple[Certified | Attack, ...] = (*self.certified, *self.attacks)
        kinds = [str(one.about.get("reads", "text")) for one in measured]
        return kinds[0] if kinds else "text"

    def certified_for(self, threat: str) -> Certified | None:
        """Of the certifications against ``threat``, the one of the most inputs: a small one may be luck."""
        found = [one for one in self.certified if one.threat == threat]
        return max(found, key=lambda one: one.summary["inputs"], default=None)

    def of_goal(self, goal: str) -> list[Attack]:
        """Attacks with this goal that attacked something."""
        return [one for one in self.attacks if one.goal == goal and one.summary["attacked"]]

    def worst(self, *, verified: bool) -> Attack | None:
        """The fickle attack that leaves the fewest right answers."""
        attacks = self.of_goal("fickle")
        return min(attacks, key=lambda one: one.rate("racc", verified=verified)["value"], default=None)

    def most_obstinate(self, *, verified: bool) -> Attack | None:
        """The attack under which the answer most often stays although the meaning changed."""
        attacks = self.of_goal("obstinate")
        return max(attacks, key=lambda one: one.rate("asr", verified=verified)["value"], default=None)


@dataclass(frozen=True)
class Benchmark:
    """A benchmark folder: the state of its cells, and the figures its plan quotes from a paper."""

    name: str
    folder: str
    cells: tuple[JsonMapping, ...]
    published: JsonMapping | None = None
    scale: float = 1.0
    """By how much the sizes of its plan were cut for a trial."""


@dataclass(frozen=True)
class Evidence:
    """Everything on one page."""

    models: tuple[ModelEvidence, ...]
    textattack: tuple[TextAttackResults, ...] = ()
    benchmarks: tuple[Benchmark, ...] = ()
    given: tuple[str, ...] = ()
    """The paths as the user named them."""

    @property
    def runs(self) -> list[Run]:
        return [model.run for model in self.models if model.run]

    @property
    def things(self) -> str:
        """What the inputs of all models are called."""
        return things(model.reads for model in self.models)

    @property
    def attacked(self) -> bool:
        return any(model.attacks for model in self.models)

    @property
    def certified(self) -> bool:
        return any(model.certified for model in self.models)


def with_distinct_names(models: Sequence[ModelEvidence]) -> tuple[ModelEvidence, ...]:
    """Models of the same name go by their whole path; those of one benchmark by what tells them apart."""
    names = [model.name for model in models]
    short = _without_task_and_seed(models)
    found = []
    for number, model in enumerate(models):
        name = short[number] if names.count(model.name) == 1 else _path(model)
        run = replace(model.run, name=name) if model.run else None
        found.append(replace(model, name=name, run=run))
    return tuple(found)


def _without_task_and_seed(models: Sequence[ModelEvidence]) -> list[str]:
    """Of runs that are all called TASK-NAME-sSEED, with one task and one seed, their NAME."""
    names, tasks = [model.name for model in models], {model.task for model in models}
    ends = {name.rpartition("-")[2] for name in names}
    if len(models) < 2 or len(tasks) > 1 or len(ends) > 1:
        return names
    (task,) = tasks
    shape = re.compile(rf"{re.escape(task)}-(.+)-s\d+")
    matches = [shape.fullmatch(name) for name in names]
    return [match[1] for match in matches if match] if task and all(matches) else names


def _path(model: ModelEvidence) -> str:
    if model.run:
        return model.run.folder
    folders = [one.folder for one in model.attacks] + [one.folder for one in model.certified]
    return folders[0] if folders else model.name
