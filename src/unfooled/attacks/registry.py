"""The recipes by name; a new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unfooled.attacks.recipe import Recipe
from unfooled.attacks.recipes.pwws import Pwws
from unfooled.settings import build, choose

RECIPES: dict[str, type[Any]] = {recipe.name: recipe for recipe in (Pwws,)}


def make_recipe(name: str, settings: Mapping[str, Any] | None = None) -> Recipe:
    """The recipe ``name``; unknown names and settings are refused with the nearest that exist."""
    recipe: Recipe = build(choose(RECIPES, name, kind="recipe"), settings or {}, owner=name)
    return recipe
