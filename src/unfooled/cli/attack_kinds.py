"""Which recipes attack what the command was pointed at: texts, questions or images."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from unfooled.errors import UserError

if TYPE_CHECKING:
    from unfooled.api.target import Target
    from unfooled.data.inputs import Inputs


def kind_of_run(run: str) -> str:
    """What the run in this folder reads, told without loading it: text, question or image."""
    from unfooled.files import read_json

    marker = Path(run) / "unfooled.json"
    try:
        held = read_json(marker) if marker.is_file() else {}
    except (UserError, OSError, ValueError):
        return "text"  # what is wrong with it is told when it is opened
    return "image" if "images" in held else "question" if "questions" in held else "text"


def default_recipe(run: str) -> str:
    """The recipe where none is named."""
    from unfooled.attacks.registry import DEFAULTS

    return DEFAULTS[kind_of_run(run)]


def check_reach(target: Target, inputs: Inputs, name: str, settings: Mapping[str, object]) -> None:
    """Refuse a recipe that needs more of this victim, or of the user, than there is."""
    from unfooled.api.jobs.text_attack import check_fits
    from unfooled.api.target import reads_images, reads_questions
    from unfooled.attacks import any_recipe, make_recipe
    from unfooled.attacks.registry import for_images, for_questions

    if reads_questions(target):
        for_questions(any_recipe(name, settings))
    elif not reads_images(target):
        check_fits(make_recipe(name), target, inputs)
    else:
        recipe = for_images(any_recipe(name, settings))
        if hasattr(recipe, "check_ready"):
            recipe.check_ready()
