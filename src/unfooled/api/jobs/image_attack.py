"""An attack on images, prepared: one item per image and size, and the worker that attacks them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from unfooled.api.inputs.certify_inputs import given_items
from unfooled.api.inputs.image_inputs import image_items, known_images
from unfooled.api.jobs.attack_job import AttackChoices, PreparedAttack, described, worth_another_try
from unfooled.api.jobs.certify_job import Item
from unfooled.api.jobs.text_attack import check_limits
from unfooled.api.target import Opens, Target, open_target
from unfooled.attacks.image.ball import Norm
from unfooled.attacks.image.image_attempt import ImageExample
from unfooled.attacks.image.image_recipe import ImageRecipe, services_of, size_of
from unfooled.attacks.image.image_story import run_image_attacks
from unfooled.attacks.limits import OF_QUESTIONS, Limits
from unfooled.attacks.scheduler import Service
from unfooled.attacks.tools import Tools
from unfooled.attacks.victims.image_victim import ImageVictim, load_foolbox
from unfooled.data.inputs import Inputs
from unfooled.errors import UsageError
from unfooled.files import JsonObject, writable
from unfooled.records.outcome import Outcome
from unfooled.records.summaries.image_summary import image_attack_summary
from unfooled.storage.journal import Key, fingerprint
from unfooled.storage.provenance import versions
from unfooled.storage.questions import digests
from unfooled.work.executor import Piece
from unfooled.work.job import Job

if TYPE_CHECKING:
    from unfooled.predictors import Classifier

POINTS = 10
"""Sizes of the curve of an attack that looks for the nearest success, where none are named."""
LARGEST: dict[Norm, float] = {"linf": 1.0, "l2": 1000.0}
OF_IMAGES = ("query_budget", "time_cap", "fresh_predictions")
"""The limits that attacks on images know; the others are about words."""


@dataclass(frozen=True)
class ImageAttackSpec:
    """What a worker needs to attack images."""

    victim: Opens | Target
    source: Opens | Target | None
    recipe: ImageRecipe
    limits: Limits
    seed: int
    in_flight: int

    def open(self, at_once: int) -> ImageAttackWorker:
        return ImageAttackWorker(self, min(self.in_flight, at_once))


class ImageAttackWorker:
    """Attacks images with everything loaded."""

    def __init__(self, spec: ImageAttackSpec, in_flight: int) -> None:
        victim = image_victim(_target(spec.victim))
        self._spec, self._in_flight, self._randomised = spec, in_flight, victim.randomised
        self._services: dict[str, Service] = {"victim": victim.answers}
        needs = services_of(spec.recipe)
        self._services |= {need: getattr(victim, need) for need in needs if need != "source"}
        if "source" in needs and spec.source is not None:
            self._services["source"] = image_victim(_target(spec.source)).gradients

    def run(self, pieces: Iterator[Piece]) -> Iterator[Piece]:
        places: dict[tuple[int, float, tuple[str, ...]], int] = {}

        def examples() -> Iterator[ImageExample]:
            for place, example in pieces:
                places[example.row, example.size, (example.shown,)] = place
                yield example

        for outcome in run_image_attacks(
            examples(),
            self._spec.recipe,
            self._services,
            limits=self._spec.limits,
            seed=self._spec.seed,
            randomised=self._randomised,
            in_flight=self._in_flight,
        ):
            assert outcome.image is not None
            yield places.pop((outcome.row, outcome.image.size, outcome.original)), outcome.to_dict()


def _target(given: Opens | Target) -> Target:
    return given if isinstance(given, Target) else given.open()


def image_victim(target: Target) -> ImageVictim:
    victim: Any = target.victim
    assert isinstance(victim, ImageVictim)
    return victim


def prepare_images(
    target: Target, recipe: ImageRecipe, inputs: Inputs, choices: AttackChoices
) -> PreparedAttack:
    """The attack of ``recipe``, at each of its sizes, on the images that ``inputs`` names."""
    victim = image_victim(target)
    classifier = victim.classifier
    if classifier.model.precision != "float32":
        raise UsageError("Attacks on images run in float32: leave out --precision.")
    sizes = check_image_attack(recipe, choices.sizes, choices.limits, choices.tools)
    source = _source(recipe, victim, choices)
    if "gradients" in services_of(recipe):
        victim.check_gradients()
    items, refused, named, check = _items(classifier, target, choices.limit, inputs)
    # One search for the nearest success tells about all sizes up to its own.
    searched = [max(sizes)] if recipe.minimal else sizes
    told_recipe = described(recipe)
    settings = {key: value for key, value in told_recipe["settings"].items() if key not in ("eps", "source")}
    conditions: dict[str, Any] = {
        "unfooled": versions()["unfooled"],
        "victim": dict(target.identity),
        "recipe": {**told_recipe, "settings": settings},
        "limits": {name: getattr(choices.limits, name) for name in OF_IMAGES},
        "seed": choices.seed,
        "labels": classifier.labels,
    }
    if source is not None:
        conditions["source"] = dict(source.identity)
    if "carlini" in services_of(recipe):
        conditions["foolbox"] = load_foolbox().__version__
    job = _job(_Examples(classifier, items, searched), refused, fingerprint(conditions))
    curve = sizes if choices.sizes or not recipe.minimal else _points(sizes[0])
    told_sizes = ", ".join(f"{size:g}" for size in searched)
    return PreparedAttack(
        job=job,
        spec=ImageAttackSpec(
            victim=choices.opened(target),
            source=None if source is None else choices.opened(source),
            recipe=recipe,
            limits=choices.limits,
            seed=choices.seed,
            in_flight=choices.in_flight,
        ),
        conditions=conditions,
        asked={
            "inputs": digests(_told(one) for one in _Examples(classifier, items, searched[:1])),
            "sizes": [f"{size:.9g}" for size in searched],
        },
        source=f"{named}, {recipe.distance} {told_sizes}",
        name=recipe.name,
        labels=classifier.labels,
        check=check,
        about={
            "reads": "image",
            "recipe": {**told_recipe, "settings": {**settings, **_crafted_on(source)}},
            "norm": recipe.distance,
            "sizes": list(sizes),
            "limits": conditions["limits"],
            "seed": choices.seed,
        },
        summarise=lambda outcomes: image_attack_summary(
            outcomes,
            norm=recipe.distance,
            sizes=curve,
            minimal=recipe.minimal,
            randomised=victim.randomised,
        ),
    )


def check_image_attack(
    recipe: ImageRecipe, sizes: Sequence[float], limits: Limits, tools: Tools
) -> list[float]:
    """The sizes of an attack in rising order; whatever can be known to fail without the victim is refused."""
    check_limits(limits, OF_QUESTIONS, "questions")
    of_words = {field.name for field in fields(Limits)}.difference(OF_IMAGES)
    check_limits(limits, of_words, "texts")
    for field in fields(Tools):
        if getattr(tools, field.name) != field.default:
            raise UsageError(f"--{field.name.replace('_', '-')} is for attacks on texts. Leave it out.")
    if hasattr(recipe, "check_ready"):
        recipe.check_ready()
    if "carlini" in services_of(recipe):
        load_foolbox()
    return _sizes(recipe, sizes)


def _sizes(recipe: ImageRecipe, given: Sequence[float]) -> list[float]:
    """The sizes of the attack in rising order: those that were given, else the recipe's own."""
    if given and recipe.eps is not None:
        raise UsageError("Give --sizes or --set eps, not both.")
    sizes = sorted({float(size) for size in given}) or [size_of(recipe)]
    most = LARGEST[recipe.distance]
    for size in sizes:
        if not 0 < size <= most:
            raise UsageError(
                f"--sizes {size:g}: a size is above 0 and at most {most:g}, in pixels from 0 to 1 "
                f"({recipe.distance})."
            )
    return sizes


def _points(largest: float) -> list[float]:
    return [float(f"{largest * number / POINTS:.6g}") for number in range(1, POINTS)] + [largest]


def _source(recipe: Any, victim: ImageVictim, choices: AttackChoices) -> Target | None:
    """The run that a transfer attack crafts images on."""
    if "source" not in services_of(recipe):
        return None
    source = open_target(recipe.source, device=choices.device)
    if not isinstance(source.victim, ImageVictim):
        raise UsageError(
            f"source={recipe.source} reads texts. Name a run that reads images of the same size."
        )
    own, other = victim.model.shape, source.victim.model.shape
    labels, others = victim.labels, source.victim.labels
    if own != other or len(others) != len(labels):
        raise UsageError(
            f"source={recipe.source} reads images of {_size(other)} and has {len(others)} classes; the "
            f"victim reads {_size(own)} and has {len(labels)}. Both must be alike."
        )
    if others != labels:
        raise UsageError(
            f"source={recipe.source} has the labels {', '.join(others)}; those of the victim are "
            f"{', '.join(labels)}. Both must be alike, in the same order."
        )
    source.victim.check_gradients()
    return source


def _crafted_on(source: Target | None) -> JsonObject:
    return {} if source is None else {"source": writable(source.run) if source.run else source.name}


def _size(shape: Sequence[int]) -> str:
    return "×".join(map(str, shape))


def _items(
    classifier: Classifier, target: Target, limit: int | None, inputs: Inputs
) -> tuple[list[Item], list[Outcome], str, Any]:
    """The images with their labels, those that cannot be read, where they are from, what is known of them."""
    from unfooled.models import Unreadable

    if inputs.texts is None and inputs.tensors is None:
        items, _, source, check = image_items(classifier, target.run, limit, inputs)
        return items, [], source, check
    if inputs.labels is None:
        raise UsageError("The true labels are needed: give Inputs(tensors=images, labels=[…]).")
    items = given_items(classifier, inputs)[:limit]
    check = known_images(target.run, items)
    good, refused = [], []
    for item, read in zip(items, classifier.model.read([item.own for item in items]), strict=True):
        if isinstance(read, Unreadable):
            refused.append(Outcome(item.row, "refused", (read.show(),), None, message=read.reason))
        else:
            good.append(item)
    return good, refused, "images", check


class _Examples(Sequence[ImageExample]):
    """Every image at every size, made when it is asked for."""

    def __init__(self, classifier: Classifier, items: Sequence[Item], sizes: Sequence[float]) -> None:
        self._classifier, self._items, self._sizes = classifier, items, sizes

    def __len__(self) -> int:
        return len(self._items) * len(self._sizes)

    def __getitem__(self, number: Any, /) -> Any:
        place, size = divmod(range(len(self))[number], len(self._sizes))
        item = self._items[place]
        (read,) = self._classifier.model.read([item.own])
        return ImageExample(
            row=item.row,
            pixels=np.ascontiguousarray(read.values.numpy(), dtype=np.float32),
            label=self._classifier.labels.index(str(item.truth)),
            size=self._sizes[size],
            shown=read.show(),
        )


def _told(example: ImageExample) -> JsonObject:
    """Which image it is."""
    return {"row": example.row, "image": example.shown, "label": example.label}


def _job(items: _Examples, refused: Sequence[Outcome], conditions: str) -> Job[ImageExample]:
    def key(example: ImageExample) -> Key:
        about = {"conditions": conditions, **_told(example), "size": f"{example.size:.9g}"}
        return fingerprint(about), example.row

    def refused_key(one: Outcome) -> Key:
        return fingerprint({"conditions": conditions, "image": one.original, "label": None}), one.row

    return Job(
        items=items,
        key=key,
        name=lambda example: f"row {example.row} ({example.shown}), size {example.size:g}",
        settled=[(refused_key(one), one.to_dict()) for one in refused],
        again=worth_another_try,
    )
