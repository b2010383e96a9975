"""Curves over seeds: models that differ by the seed only are one line.

It is their mean, with a band from the lowest to the highest seed. Each task has a chart of its own. Certified
accuracy over the radius and accuracy over the size of an attack are drawn so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import TypeVar

from unfooled.records.evidence import Evidence, ModelEvidence
from unfooled.reports.charts import Series
from unfooled.reports.seeds import families_of
from unfooled.reports.svg import SLOTS

OfModel = TypeVar("OfModel")
OfModels = Sequence[tuple[ModelEvidence, OfModel]]

BAND = "seeds"
"""What the band of a chart with joined seeds is (``Lines.band``)."""
NOTE = "Mean over seeds; the band goes from the lowest to the highest."


def over_seeds(
    data: Evidence, found: OfModels[OfModel], alike: Callable[[OfModel], object]
) -> list[list[tuple[ModelEvidence, OfModel]]]:
    """Together what differs by the seed of the model only; ``alike`` is equal for the same measurement."""
    families = families_of(data)
    groups: dict[object, list[tuple[ModelEvidence, OfModel]]] = {}
    for model, one in found:
        groups.setdefault((families[model.name], alike(one)), []).append((model, one))
    return list(groups.values())


def family_slots(data: Evidence) -> dict[str, int]:
    """The colour of each model where seeds are joined: of those on its task, the number of its family.

    So a defence keeps its colour in all charts, whichever of the models a chart shows.
    """
    families, seen, found = families_of(data), dict[str, list[str]](), {}
    for model in data.models:
        own = seen.setdefault(model.task, [])
        if families[model.name] not in own:
            own.append(families[model.name])
        found[model.name] = own.index(families[model.name]) % SLOTS + 1
    return found


def per_task(found: OfModels[OfModel]) -> list[tuple[str, list[tuple[ModelEvidence, OfModel]]]]:
    """What was measured on each task, after what its title ends with: nothing if there is one task."""
    tasks = list(dict.fromkeys(model.task for model, _ in found))
    return [
        (f", {task}" if len(tasks) > 1 else "", [(model, one) for model, one in found if model.task == task])
        for task in tasks
    ]


def names(groups: Sequence[OfModels[OfModel]], of: Callable[[str, OfModel], str]) -> list[str]:
    """What each group is called: its defence, and one of its models where another group has that defence."""
    firsts = [group[0] for group in groups]
    short = [of(model.defence or model.name, one) for model, one in firsts]
    return [
        name if short.count(name) == 1 else of(f"{model.defence}, like {model.name}", one)
        for name, (model, one) in zip(short, firsts, strict=True)
    ]


def mean_line(
    name: str, at: Sequence[float], each: Sequence[Sequence[float]], slot: int, *, hollow: bool = False
) -> Series:
    """One line over the seeds; ``each`` has the values of each seed at the points ``at``."""
    together = list(zip(*each, strict=True))
    points = [(x, fmean(values)) for x, values in zip(at, together, strict=True)]
    if len(each) == 1:
        return Series(name, points, slot, hollow=hollow)
    band = [(min(values), max(values)) for values in together]
    return Series(f"{name} ({len(each)} seeds)", points, slot, band, hollow=hollow)
