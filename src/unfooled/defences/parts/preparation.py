"""What must be made before a defence trains: the successes of an attack on a plain model.

A defence that needs such examples says which (:class:`Preparation`). ``api/jobs/prepare_training.py`` makes
them, as an ordinary attack with its journal, and hands them to the session (``Training.made``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from unfooled.files import JsonMapping

if TYPE_CHECKING:
    from unfooled.attacks import Recipe
    from unfooled.defences.parts.base import Defence


@dataclass(frozen=True)
class Preparation:
    """An attack on a plain model, on texts that the defence will train on."""

    recipe: Recipe
    sample: int
    """Training texts that are attacked, at most."""
    plain: str | None = None
    """The run that is attacked; None: the one that training starts from, else one that is trained for it."""


@dataclass(frozen=True)
class MadeExample:
    """A text, or both texts of a pair, with the label that it is trained with."""

    texts: tuple[str, ...]
    label: int


@dataclass(frozen=True)
class MadeExamples:
    """What a preparation made."""

    examples: Sequence[MadeExample] = ()
    about: JsonMapping = field(default_factory=dict)
    """How it was made, for the records of the run; ``seconds``: what each part of it took."""

    @property
    def seconds(self) -> float:
        """What it took, all parts together, whenever it was made."""
        return sum(value for value in self.about.get("seconds", {}).values() if value is not None)


@runtime_checkable
class Prepares(Protocol):
    """A defence that needs something made before it trains."""

    def preparation(self) -> Preparation: ...


def preparations(defence: Defence) -> Mapping[str, Preparation]:
    """What a defence, or each part of a combination, needs before it trains, by the name of the part."""
    parts: Sequence[Defence] = getattr(defence, "parts", (defence,))
    return {part.name: part.preparation() for part in parts if isinstance(part, Prepares)}
