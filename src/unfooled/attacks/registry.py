"""The recipes by name; a new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unfooled.attacks.image.boundary import Boundary
from unfooled.attacks.image.carlini_wagner import CarliniWagner
from unfooled.attacks.image.gradient_steps import PgdL2, PgdLinf
from unfooled.attacks.image.image_recipe import ImageRecipe
from unfooled.attacks.image.transfer import Transfer
from unfooled.attacks.image.worst import Worst
from unfooled.attacks.recipe import Recipe
from unfooled.attacks.text.a2t import A2T
from unfooled.attacks.text.adaptive import Adaptive
from unfooled.attacks.text.antonym import Antonym
from unfooled.attacks.text.bae import Bae
from unfooled.attacks.text.deepwordbug import DeepWordBug
from unfooled.attacks.text.negation import Negation
from unfooled.attacks.text.pwws import Pwws
from unfooled.attacks.text.random_words import RandomWords
from unfooled.attacks.text.synonym import Synonym
from unfooled.attacks.text.textfooler import TextFooler
from unfooled.errors import UsageError, did_you_mean
from unfooled.registry import Registry
from unfooled.settings import build

_RECIPES: tuple[type[Any], ...] = (
    TextFooler,
    Pwws,
    Bae,
    DeepWordBug,
    A2T,
    Adaptive,
    Synonym,
    Antonym,
    Negation,
    RandomWords,
)
RECIPES: Registry[type[Any]] = Registry("recipe", _RECIPES, needs=("paper", "goal", "needs"))


_FOR_IMAGES: tuple[type[Any], ...] = (PgdLinf, PgdL2, CarliniWagner, Boundary, Transfer, Worst)
IMAGE_RECIPES: Registry[type[Any]] = Registry(
    "image-recipe", _FOR_IMAGES, needs=("paper", "goal", "reads", "needs", "minimal")
)


def recipe_class(name: str) -> type[Any]:
    """The recipe called ``name``, for texts or images; an unknown name is refused with the nearest one."""
    if isinstance(name, str) and (name in IMAGE_RECIPES or did_you_mean(name, IMAGE_RECIPES)):
        return IMAGE_RECIPES.choose(name)
    try:
        return RECIPES.choose(name)
    except UsageError as error:
        raise UsageError(f"{error} For images: {', '.join(IMAGE_RECIPES)}.") from error


def any_recipe(name: str, settings: Mapping[str, object] | None = None) -> Recipe | ImageRecipe:
    """The recipe ``name`` with its settings, for texts or for images."""
    recipe: Recipe | ImageRecipe = build(recipe_class(name), settings or {}, owner=name)
    return recipe


def make_recipe(name: str, settings: Mapping[str, object] | None = None) -> Recipe:
    """The recipe ``name`` for texts; unknown names and settings are refused with the nearest that exist."""
    return for_texts(any_recipe(name, settings))


DEFAULTS = {"text": "textfooler", "image": "pgd-linf"}
"""The recipe, by what the victim reads, where none is named."""


def for_texts(recipe: Recipe | ImageRecipe) -> Recipe:
    """The recipe, if it attacks texts."""
    if getattr(recipe, "reads", "text") != "text":
        raise UsageError(
            f"{recipe.name} attacks images, and this victim reads texts. Choose one of: {', '.join(RECIPES)}."
        )
    found: Any = recipe
    return found


def for_images(recipe: Recipe | ImageRecipe) -> ImageRecipe:
    """The recipe, if it attacks images."""
    if getattr(recipe, "reads", "text") != "image":
        raise UsageError(
            f"{recipe.name} attacks texts, and this victim reads images. Choose one of: "
            f"{', '.join(IMAGE_RECIPES)}."
        )
    found: Any = recipe
    return found
