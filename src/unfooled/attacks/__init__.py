"""Attacks: a scheduler that pools the queries of many examples, and one short file a recipe.

>>> recipe = make_recipe("pwws")
>>> outcomes = list(run_attacks(examples, recipe, services, limits=Limits()))

An attack sees its victim only through :class:`Victim`: our classifiers, a Hugging Face pipeline, a Python
function or an HTTP endpoint.
"""

from __future__ import annotations

from unfooled.attacks.attempt import Example
from unfooled.attacks.document import Change, Document
from unfooled.attacks.engine import run_attacks
from unfooled.attacks.limits import Limits
from unfooled.attacks.outcome import Outcome
from unfooled.attacks.recipe import Recipe
from unfooled.attacks.registry import RECIPES, make_recipe
from unfooled.attacks.victim import Answer, Asked, Gradients, Query, Victim, WhiteBoxVictim

__all__ = [
    "RECIPES",
    "Answer",
    "Asked",
    "Change",
    "Document",
    "Example",
    "Gradients",
    "Limits",
    "Outcome",
    "Query",
    "Recipe",
    "Victim",
    "WhiteBoxVictim",
    "make_recipe",
    "run_attacks",
]
