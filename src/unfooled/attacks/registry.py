"""The recipes by name; a new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from unfooled.attacks.image.auto_pgd import ApgdCe, ApgdT
from unfooled.attacks.image.boundary import Boundary
from unfooled.attacks.image.carlini_wagner import CarliniWagner
from unfooled.attacks.image.gradient_steps import PgdL2, PgdLinf
from unfooled.attacks.image.image_recipe import ImageRecipe
from unfooled.attacks.image.square import Square
from unfooled.attacks.image.transfer import Transfer
from unfooled.attacks.image.worst import Worst
from unfooled.attacks.questions.distraction import AddOneSent, AddSent, QuestionRecipe
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
from unfooled.attacks.tools import WHITE_BOX
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


_FOR_IMAGES: tuple[type[Any], ...] = (
    PgdLinf,
    PgdL2,
    ApgdCe,
    ApgdT,
    Square,
    CarliniWagner,
    Boundary,
    Transfer,
    Worst,
)
IMAGE_RECIPES: Registry[type[Any]] = Registry(
    "image-recipe", _FOR_IMAGES, needs=("paper", "goal", "reads", "needs", "minimal")
)
QUESTION_RECIPES: Registry[type[Any]] = Registry(
    "question-recipe", (AddSent, AddOneSent), needs=("paper", "goal", "reads", "needs")
)
AnyRecipe = Recipe | ImageRecipe | QuestionRecipe
DEFAULTS = {"text": "textfooler", "image": "pgd-linf", "question": "addsent"}
"""The recipe, by what the victim reads, where none is named."""
_THINGS = {"text": "texts", "image": "images", "question": "questions"}


def all_recipes() -> Iterator[tuple[str, type[Any]]]:
    """Every recipe: for texts, for questions, for images."""
    for registry in (RECIPES, QUESTION_RECIPES, IMAGE_RECIPES):
        yield from registry.items()


def recipe_class(name: str) -> type[Any]:
    """The recipe called ``name``, whatever it attacks; an unknown name is refused with the nearest one."""
    for registry in (IMAGE_RECIPES, QUESTION_RECIPES):
        if isinstance(name, str) and (name in registry or did_you_mean(name, registry)):
            return registry.choose(name)
    try:
        return RECIPES.choose(name)
    except UsageError as error:
        raise UsageError(
            f"{error} For images: {', '.join(IMAGE_RECIPES)}. For questions also: "
            f"{', '.join(QUESTION_RECIPES)}."
        ) from error


def any_recipe(name: str, settings: Mapping[str, object] | None = None) -> AnyRecipe:
    """The recipe ``name`` with its settings, whatever it attacks."""
    recipe: AnyRecipe = build(recipe_class(name), settings or {}, owner=name)
    return recipe


def make_recipe(name: str, settings: Mapping[str, object] | None = None) -> Recipe:
    """The recipe ``name`` for texts; unknown names and settings are refused with the nearest that exist."""
    if not (name in IMAGE_RECIPES or name in QUESTION_RECIPES):
        RECIPES.choose(name)  # refuses it, with names for texts alone
    return for_texts(any_recipe(name, settings))


def for_texts(recipe: AnyRecipe) -> Recipe:
    """The recipe, if it attacks texts."""
    if reads(recipe) != "text":
        raise _misplaced(recipe, "text", RECIPES)
    found: Any = recipe
    return found


def for_images(recipe: AnyRecipe) -> ImageRecipe:
    """The recipe, if it attacks images."""
    if reads(recipe) != "image":
        raise _misplaced(recipe, "image", IMAGE_RECIPES)
    found: Any = recipe
    return found


def for_questions(recipe: AnyRecipe) -> Recipe | QuestionRecipe:
    """The recipe, if it attacks questions: one of theirs, or one for texts that works on their contexts."""
    if reads(recipe) == "image":
        raise _misplaced(recipe, "question", recipes_for("question"))
    if why := _why_not_questions(recipe):
        raise UsageError(
            f"{recipe.name} does not attack questions: {why}. Choose one of: "
            f"{', '.join(recipes_for('question'))}."
        )
    found: Any = recipe
    return found


def recipes_for(kind: str) -> list[str]:
    """The names of the recipes that attack victims of this kind."""
    if kind != "question":
        return list(IMAGE_RECIPES if kind == "image" else RECIPES)
    return [*QUESTION_RECIPES, *(name for name, cls in RECIPES.items() if not _why_not_questions(cls))]


def reads(recipe: AnyRecipe | type[Any]) -> str:
    """What a recipe attacks: text, image or question."""
    return str(getattr(recipe, "reads", "text"))


def _why_not_questions(recipe: AnyRecipe | type[Any]) -> str:
    if recipe.goal == "obstinate":
        return (
            "it changes the meaning and expects another answer, but the right answer is protected and stays "
            "right"
        )
    if any(need in WHITE_BOX for need in recipe.needs):
        return "it follows the gradient of a class, and an answer is a span"
    return ""


def _misplaced(recipe: AnyRecipe, kind: str, choice: Iterable[str]) -> UsageError:
    return UsageError(
        f"{recipe.name} attacks {_THINGS[reads(recipe)]}, and this victim reads {_THINGS[kind]}. Choose one "
        f"of: {', '.join(choice)}."
    )
