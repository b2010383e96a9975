"""Attacks: a scheduler that pools the queries of many examples, and one short file a recipe.

>>> recipe = make_recipe("pwws")
>>> outcomes = list(run_attacks(examples, recipe, services, limits=Limits()))

An attack sees its victim only through :class:`Victim`: our classifiers, a Hugging Face pipeline, a Python
function or an HTTP endpoint.
"""

from __future__ import annotations

from unfooled.attacks.attempt import Example
from unfooled.attacks.limits import Limits
from unfooled.attacks.recipe import Recipe
from unfooled.attacks.registry import (
    IMAGE_RECIPES,
    QUESTION_RECIPES,
    RECIPES,
    any_recipe,
    make_recipe,
    recipe_class,
)
from unfooled.attacks.scheduler import run_attacks
from unfooled.attacks.victim import Answer, Asked, Gradients, Query, Victim, WhiteBoxVictim
from unfooled.records.outcome import Outcome

__all__ = [
    "IMAGE_RECIPES",
    "QUESTION_RECIPES",
    "RECIPES",
    "Answer",
    "Asked",
    "Example",
    "Gradients",
    "Limits",
    "Outcome",
    "Query",
    "Recipe",
    "Victim",
    "WhiteBoxVictim",
    "any_recipe",
    "make_recipe",
    "recipe_class",
    "run_attacks",
]
