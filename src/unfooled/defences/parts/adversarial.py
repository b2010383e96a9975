"""What the defences that train on adversarial examples share: the recipe, and the rows they append."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unfooled.defences.parts.preparation import MadeExample
from unfooled.defences.session import TrainingData
from unfooled.errors import UsageError
from unfooled.files import JsonMapping
from unfooled.models import Model, as_text
from unfooled.settings import setting

if TYPE_CHECKING:
    from unfooled.attacks import Outcome, Recipe


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


def attack_counts(outcomes: Iterable[Outcome]) -> dict[str, int]:
    """What became of the training texts that an attack was given."""
    counts: Counter[str] = Counter(
        "untried" if one.status == "failed" and not one.tried and not one.budget_spent else one.status
        for one in outcomes
    )
    return {
        "sampled": counts.total(),
        "misclassified": counts["skipped"],
        "unchangeable": counts["not-attackable"] + counts["untried"],
        "attacked": counts["success"] + counts["failed"],
        "errors": counts["error"],
        "successes": counts["success"],
    }


def counts_in_words(counts: JsonMapping) -> str:
    """Why an attack may have found nothing."""
    parts = [
        f"{counts[name]:,} {words}"
        for name, words in (
            ("attacked", "attacked"),
            ("misclassified", "already misclassified"),
            ("unchangeable", "without a word that the recipe may change"),
            ("errors", "on which it broke"),
        )
        if counts.get(name)
    ]
    return f"of {counts.get('sampled', 0):,} training texts {', '.join(parts) or 'none was attacked'}"


def appended(model: Model, data: TrainingData, examples: Sequence[MadeExample]) -> TrainingData:
    """The training data and, after them, the examples."""
    if not examples:
        return data
    pairs = [one.texts[1] for one in examples] if len(examples[0].texts) == 2 else None
    encoded = as_text(model).encode([one.texts[0] for one in examples], pairs)
    return TrainingData([*data.encoded, *encoded], [*data.labels, *(one.label for one in examples)])
