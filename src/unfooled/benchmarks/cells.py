"""The cells of a benchmark: one training, attack, certification or measurement each, in an order to run them.

A cell is known by its name and keyed by its conditions: whatever the plan says that its result depends on,
with the key of the training behind it. One seed comes after the other, and within a seed all models are
trained before the first attack, so that a benchmark which is stopped early can already be compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from unfooled.benchmarks.grid import PlannedModel, all_models
from unfooled.benchmarks.plan import (
    AttackPlan,
    CertificatePlan,
    Plan,
    RepeatPlan,
    RepresentationsPlan,
    TaskPlan,
)
from unfooled.errors import UsageError
from unfooled.parsing import plain
from unfooled.storage.config import TrainConfig
from unfooled.storage.journal import fingerprint

CellKind = Literal["train", "attack", "certify", "repeat", "representations"]
Part = AttackPlan | CertificatePlan | RepeatPlan | RepresentationsPlan


@dataclass(frozen=True)
class Cell:
    """One piece of work whose result is a file in a run folder."""

    name: str
    kind: CellKind
    task: str
    defence: str
    """The model of the plan: the name of its defence, with the values of a grid."""
    seed: int
    run: Path
    """The run folder of the model."""
    result: Path
    config: TrainConfig
    """How the model is trained."""
    conditions: dict[str, Any]
    what: str | None = None
    """The attack or certificate."""
    part: Part | None = None
    predictor: dict[str, object] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    grid: dict[str, object] = field(default_factory=dict)
    """What the grid of the plan sets for this model."""

    @property
    def key(self) -> str:
        return fingerprint(self.conditions)

    @property
    def predictor_settings(self) -> dict[str, object]:
        return {name: value for name, value in self.predictor.items() if name != "name"}


def make_cells(plan: Plan, out: Path) -> list[Cell]:
    """Every cell of the plan in ``out``, each after those it needs."""
    cells: dict[str, Cell] = {}
    for cell in _all_cells(plan, out):
        if cell.name in cells:
            raise UsageError(
                f"Two cells of the plan are called {cell.name}: tasks and defences joined by - must stay "
                "different. Rename one with name: …."
            )
        cells[cell.name] = cell
    return list(cells.values())


def _all_cells(plan: Plan, out: Path) -> Iterator[Cell]:
    every = list(all_models(plan))
    for seed in plan.seeds:
        models = [pair for task in plan.tasks for pair in _trainings(plan, every, task, seed, out)]
        yield from (cell for cell, _ in models)
        for attack in plan.attacks:
            for cell, model in models:
                if model.of in (attack.only or ()):
                    predictor = {**model.plan.predictor, **model.plan.attack_predictor, **attack.predictor}
                    source = _source(attack, cell, models)
                    yield _of_model(cell, "attack", attack, predictor, source=source)
        for certificate in plan.certificates:
            for cell, model in models:
                if model.of in (certificate.only or ()):
                    predictor = {**model.plan.predictor, **certificate.predictor}
                    yield _of_model(cell, "certify", certificate, predictor)
        for cell, model in models:
            if plan.repeat is not None and model.of in (plan.repeat.only or ()):
                yield _of_model(cell, "repeat", plan.repeat, model.plan.predictor)
        for cell, model in models:
            names = [one.name for one in plan.attacks if model.of in (one.only or ())]
            if plan.representations is not None and model.of in (plan.representations.only or ()) and names:
                yield _of_model(cell, "representations", plan.representations, {}, attacks=names)


def _trainings(
    plan: Plan, models: list[PlannedModel], task: TaskPlan, seed: int, out: Path
) -> Iterator[tuple[Cell, PlannedModel]]:
    made: dict[str, Cell] = {}
    for model in models:
        before = made.get(model.plan.start_from or "")
        config = plan.config(task, model.plan, seed, encoder=before.run if before else None)
        conditions: dict[str, object] = config.conditions()
        if before is not None:
            # Not the folder: a benchmark may be moved.
            conditions["encoder"] = {"start_from": before.defence, "key": before.key}
        name = f"{task.name}-{model.plan.name}-s{seed}"
        run = out / "runs" / name
        made[model.plan.name] = Cell(
            name=name,
            kind="train",
            task=task.name,
            defence=model.plan.name,
            seed=seed,
            run=run,
            result=run / "unfooled.json",
            config=config,
            conditions=plain(conditions),
            needs=() if before is None else (before.name,),
            grid=model.values,
        )
        yield made[model.plan.name], model


_PLACES = {
    "attack": ("attacks", "attack.json"),
    "certify": ("certificates", "certificate.json"),
    "repeat": ("repeats", "repeat.json"),
    "representations": ("representations", "representations.json"),
}
PLANNED = "plan"
"""The result set of what a plan has only one of for each model."""


def _source(attack: AttackPlan, victim: Cell, models: list[tuple[Cell, PlannedModel]]) -> Cell | None:
    """The model on which a transfer attack on ``victim`` crafts its images."""
    if attack.source is None:
        return None
    return next(cell for cell, model in models if (cell.task, model.of) == (victim.task, attack.source))


def _of_model(
    model: Cell,
    kind: CellKind,
    part: Part,
    predictor: Mapping[str, object],
    attacks: list[str] | None = None,
    source: Cell | None = None,
) -> Cell:
    what = getattr(part, "name", None)
    folder, file = _PLACES[kind]
    place = "/".join(filter(None, (folder, what)))
    conditions = {key: value for key, value in asdict(part).items() if key not in ("only", "predictor")}
    if not conditions.get("inputs"):
        conditions.pop("inputs", None)  # the test texts
    conditions.pop("source", None)
    if conditions.get("precision") == "float32":
        del conditions["precision"]  # as in plans that were made before it could be chosen
    conditions |= {"predictor": dict(predictor), "trained": model.key}
    if source is not None and isinstance(part, AttackPlan):
        # Not the folder: a benchmark may be moved.
        conditions["source"] = {"model": source.defence, "key": source.key}
        part = replace(part, settings={**part.settings, "source": str(source.run)})
    if attacks is not None:
        conditions["attacks"] = attacks
    # Hidden states are computed anew when the plan asks for others; each answer has its own result set.
    planned = f"{PLANNED}-{fingerprint(plain(conditions))[:8]}" if kind == "representations" else PLANNED
    return Cell(
        name=f"{model.name}/{place}",
        kind=kind,
        task=model.task,
        defence=model.defence,
        seed=model.seed,
        run=model.run,
        result=model.run / folder / (what or planned) / file,
        config=model.config,
        conditions=plain(conditions),
        what=what,
        part=part,
        predictor=dict(predictor),
        needs=(
            model.name,
            *([source.name] if source else []),
            *(f"{model.name}/attacks/{name}" for name in attacks or []),
        ),
        grid=model.grid,
    )
