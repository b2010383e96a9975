"""The recipes by name; a new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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


def make_recipe(name: str, settings: Mapping[str, object] | None = None) -> Recipe:
    """The recipe ``name``; unknown names and settings are refused with the nearest that exist."""
    recipe: Recipe = build(RECIPES.choose(name), settings or {}, owner=name)
    return recipe
