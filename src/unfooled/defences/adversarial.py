"""What the defences that train on adversarial examples share: the recipe, and the rows they append."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unfooled.defences.preparation import MadeExample
from unfooled.defences.session import TrainingData
from unfooled.errors import UsageError
from unfooled.models import Model, as_text
from unfooled.settings import setting

if TYPE_CHECKING:
    from unfooled.attacks import Recipe


@dataclass(frozen=True)
class AgainstRecipe:
    """Which attack makes the examples. They keep the label of the text that they were made from."""

    recipe: str = setting("textfooler", "Attack that makes the examples, see `unfooled attack --list`")
    recipe_settings: dict[str, Any] = setting(dict, "Settings of the recipe, e.g. {candidates: 20}")

    def __post_init__(self) -> None:
        made = self.made_recipe()
        if made.goal == "obstinate":
            raise UsageError(
                f"recipe {made.name}: it changes what a text means, so the label of its successes is not "
                "known and they cannot be trained on. Choose a recipe with the goal fickle "
                "(`unfooled attack --list`)."
            )

    def made_recipe(self) -> Recipe:
        from unfooled.attacks import make_recipe

        return make_recipe(self.recipe, self.recipe_settings)


def appended(model: Model, data: TrainingData, examples: Sequence[MadeExample]) -> TrainingData:
    """The training data and, after them, the examples."""
    if not examples:
        return data
    pairs = [one.texts[1] for one in examples] if len(examples[0].texts) == 2 else None
    encoded = as_text(model).encode([one.texts[0] for one in examples], pairs)
    return TrainingData([*data.encoded, *encoded], [*data.labels, *(one.label for one in examples)])
