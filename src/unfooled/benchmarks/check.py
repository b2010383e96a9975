"""What can be known to fail before hours are spent: data, encoder, layers, predictors, threats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from unfooled.benchmarks.cells import Cell
from unfooled.benchmarks.plan import AttackPlan, CertificatePlan
from unfooled.errors import UsageError, UserError
from unfooled.settings import build

if TYPE_CHECKING:
    from unfooled.models import Model
    from unfooled.predictors import Classifier
    from unfooled.training.data import AnyTaskData

Encoders = dict[tuple[object, ...], "Model"]
"""Opened models, by encoder, layers, labels and length."""


def check_cells(cells: Sequence[Cell], waiting: set[str]) -> None:
    """Read the data and the encoder of every model that has work waiting, and try its settings on them."""
    from unfooled.api.jobs.prepare_training import check_plain_runs
    from unfooled.defences import make_defence
    from unfooled.hub.devices import device_and_bf16
    from unfooled.training.data import load_any

    by_name = {cell.name: cell for cell in cells}
    busy = {(cell.task, cell.defence) for cell in cells if cell.name in waiting}
    models = {(c.task, c.defence): c for c in reversed(cells) if c.kind == "train"}
    tasks: dict[str, AnyTaskData] = {}
    loaded: Encoders = {}
    for key in [key for key in reversed(models) if key in busy]:
        cell = models[key]
        with _named(cell):
            device_and_bf16(cell.config.device, cell.config.precision)
            if cell.task not in tasks:
                tasks[cell.task] = load_any(cell.config)
            classifier = _untrained(cell, _root(cell, by_name), tasks[cell.task], loaded)
            defence = make_defence(cell.config.defence, cell.config.settings)
            check_plain_runs(defence, tasks[cell.task], later={one.run for one in cells})
        for other in cells:
            if (other.task, other.defence, other.seed) == (*key, cell.seed) and other.name in waiting:
                with _named(other):
                    _try(other, classifier)


def _root(cell: Cell, by_name: dict[str, Cell]) -> Cell:
    """The model at the start of the chain, whose encoder is there before any training."""
    while cell.needs:
        cell = by_name[cell.needs[0]]
    return cell


def _untrained(cell: Cell, root: Cell, data: AnyTaskData, loaded: Encoders) -> Classifier:
    """The classifier as it will be, before training."""
    from unfooled.data import TaskData
    from unfooled.defences import check_data, check_kind, make_defence, settings_of
    from unfooled.predictors import Classifier
    from unfooled.training.kinds import kind_of

    task = data.task
    layers = cell.config.layers or root.config.layers
    length = cell.config.max_length or task.max_length
    shape = getattr(data, "shape", None)  # of images
    opened = (root.config.encoder, layers, task.kind, task.labels, length, shape)
    if opened not in loaded:
        loaded.clear()  # one encoder in memory at a time
        config = replace(
            cell.config, encoder=root.config.encoder, layers=layers, device="cpu", precision="float32"
        )
        loaded[opened] = kind_of(config).opened(config, data, None)
    model = loaded[opened]
    defence = make_defence(cell.config.defence, cell.config.settings)
    check_kind(defence, model)
    defence = defence.resolved(model)
    if isinstance(data, TaskData):
        check_data(defence, data)
    return Classifier(
        model,
        defence.predictor(model),
        labels=task.labels,
        defence=cell.config.defence,
        settings=settings_of(defence),
        task={"name": task.name, "kind": task.kind},
    )


def _try(cell: Cell, classifier: Classifier) -> None:
    from unfooled.predictors.override import with_predictor

    opened = with_predictor(classifier, cell.predictor)
    if isinstance(cell.part, AttackPlan):
        from unfooled.api.jobs.text_attack import check_meaning_decides
        from unfooled.attacks import Limits, any_recipe
        from unfooled.attacks.registry import for_images, for_questions, for_texts
        from unfooled.attacks.tools import Tools

        recipe = any_recipe(cell.part.recipe, cell.part.settings)
        if opened.model.kind == "image":
            from unfooled.api.jobs.image_attack import check_image_attack

            limits = build(Limits, cell.part.limits, owner="limits")
            tools = build(Tools, cell.part.tools, owner="tools")
            check_image_attack(for_images(recipe), cell.part.sizes, limits, tools)
            if cell.part.precision == "bf16":
                raise UsageError("Attacks on images run in float32: leave out precision.")
        elif opened.model.kind == "question":
            for_questions(recipe)
        else:
            task = cell.part.inputs.get("task") or (classifier.task or {}).get("name")
            check_meaning_decides(for_texts(recipe), task)
    if isinstance(cell.part, CertificatePlan):
        from unfooled.certificates.procedure import check_sampling
        from unfooled.certificates.sampling import Sampling
        from unfooled.certificates.smoothing import choose_smoothing

        chosen = choose_smoothing(opened, cell.part.threat, cell.part.bounds)
        check_sampling(cell.part.part(Sampling), chosen.bounds)


@contextmanager
def _named(cell: Cell) -> Iterator[None]:
    try:
        yield
    except UserError as error:
        raise type(error)(f"{cell.name}: {error}") from error
