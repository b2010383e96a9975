"""What the shell offers after Tab: the names of tasks, defences, recipes, threats and so on.

Each function gets the beginning that was typed and gives the values with their descriptions. They ask the
registries, so names of other packages are offered too; what cannot be loaded offers nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps

Offered = list[tuple[str, str]]
Completion = Callable[[str], Offered]


def _completion(values: Callable[[], Iterable[tuple[str, str]]]) -> Completion:
    """Values that go on with what was typed; after a comma or plus the next name of a list is completed."""

    @wraps(values)
    def offered(incomplete: str) -> Offered:
        cut = max(incomplete.rfind(","), incomplete.rfind("+")) + 1
        before, begun = incomplete[:cut], incomplete[cut:]
        try:
            found = list(values())
        except Exception:  # a broken package must not print a traceback into the prompt
            return []
        return [(before + name, said) for name, said in found if name.startswith(begun)]

    del offered.__wrapped__  # Typer reads the parameters of what it calls
    return offered


@_completion
def tasks() -> Iterable[tuple[str, str]]:
    from unfooled import data
    from unfooled.data.images.named import IMAGE_TASKS

    yield from ((name, data.get_task(name).description) for name in data.task_names())
    yield from ((task.name, task.description) for task in IMAGE_TASKS.values())


@_completion
def defences() -> Iterable[tuple[str, str]]:
    from unfooled.defences import DEFENCES

    return ((name, cls.summary) for name, cls in DEFENCES.items())


@_completion
def recipes() -> Iterable[tuple[str, str]]:
    from unfooled.attacks.registry import all_recipes

    return [("all", "every recipe that works here"), *((name, cls.paper) for name, cls in all_recipes())]


@_completion
def predictors() -> Iterable[tuple[str, str]]:
    from unfooled.predictors.registry import PREDICTORS

    return ((name, "") for name in PREDICTORS)


@_completion
def threats() -> Iterable[tuple[str, str]]:
    from unfooled.certificates.threats import TEXT

    return ((name, threat.unit) for name, threat in TEXT.items())


@_completion
def encoders() -> Iterable[tuple[str, str]]:
    from unfooled import assets

    yield from ((name, assets.describe(name).description) for name in ("minilm", "mpnet"))
    from unfooled.models.images import ARCHITECTURES

    yield from ((name, "images") for name in ARCHITECTURES)


@_completion
def presets() -> Iterable[tuple[str, str]]:
    from unfooled.benchmarks.plan_file import presets as known

    return known().items()


@_completion
def asset_names() -> Iterable[tuple[str, str]]:
    from unfooled import assets

    return ((name, assets.describe(name).description) for name in assets.names())


def one_of(*values: str) -> Completion:
    """The values of a setting that has only these."""
    return _completion(lambda: [(value, "") for value in values])


devices = one_of("auto", "cpu", "cuda", "mps")
precisions = one_of("auto", "float32", "bf16")

OF_SETTINGS: dict[str, Completion] = {
    "task": tasks,
    "defence": defences,
    "encoder": encoders,
    "augment": one_of("crop", "flip"),
    "device": devices,
    "precision": precisions,
}
"""Settings, by name, whose values can be offered."""
