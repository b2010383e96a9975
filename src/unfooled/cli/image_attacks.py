"""Attacks on images in the terminal: their options, and accuracy against the size of the attack."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from unfooled.cli.console import rate
from unfooled.errors import UsageError, UserError
from unfooled.files import JsonMapping

if TYPE_CHECKING:
    from unfooled.api.target import Target
    from unfooled.data.inputs import Inputs
    from unfooled.records.outcome import Outcome

NAMES = {"linf": "ℓ∞", "l2": "ℓ2"}


def holds_images(run: str) -> bool:
    """Whether this is the folder of a run on images, told without loading it."""
    from unfooled.files import read_json

    marker = Path(run) / "unfooled.json"
    try:
        return marker.is_file() and "images" in read_json(marker)
    except (UserError, OSError, ValueError):
        return False  # what is wrong with it is told when it is opened


def default_recipe(run: str) -> str:
    """The recipe where none is named."""
    from unfooled.attacks.registry import DEFAULTS

    return DEFAULTS["image" if holds_images(run) else "text"]


def parse_sizes(text: str | None) -> tuple[float, ...]:
    """The numbers of ``--sizes 0.05,0.1``."""
    found = []
    for part in [] if text is None else text.split(","):
        try:
            found.append(float(part))
        except ValueError as error:
            raise UsageError(
                f"--sizes {text}: {part.strip() or 'nothing'!r} is no number. Write --sizes 0.05,0.1,0.2."
            ) from error
    return tuple(found)


def check_reach(target: Target, inputs: Inputs, name: str, settings: Mapping[str, object]) -> None:
    """Refuse a recipe that needs more of this victim, or of the user, than there is."""
    from unfooled.api.jobs.text_attack import check_fits
    from unfooled.api.target import reads_images
    from unfooled.attacks import any_recipe, make_recipe
    from unfooled.attacks.registry import for_images

    if not reads_images(target):
        return check_fits(make_recipe(name), target, inputs)
    recipe = for_images(any_recipe(name, settings))
    if hasattr(recipe, "check_ready"):
        recipe.check_ready()


def curve_lines(summary: JsonMapping) -> list[str]:
    """Accuracy at each size, one line each; nothing for texts, or for a single size."""
    curve = summary.get("curve", [])
    if len(curve) < 2:
        return []
    key = "racc_verified" if summary["randomised"] else "racc"
    words = "re-verified on fresh noise" if summary["randomised"] else "correct under attack"
    lines = [f"accuracy against the size of the attack ({NAMES[summary['norm']]}), {words}:"]
    return lines + [f"  {point['size']:<8g} {rate(point[key])}" for point in curve]


def moved_text(outcome: Outcome) -> str:
    """How far an image was moved."""
    change = outcome.image
    assert change is not None
    by = f", by {change.found_by}" if change.found_by else ""
    far = "" if change.distance is None else f", {NAMES[change.norm]} distance {change.distance:.4g}"
    return f"{outcome.original[0]}{far}{by}"
