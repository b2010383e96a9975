"""What is asked of a certification: how many draws at which error rate, and what is told about words."""

from __future__ import annotations

from dataclasses import dataclass, fields

from unfooled.errors import UsageError
from unfooled.settings import MOST_DRAWS, check_range, setting


@dataclass(frozen=True)
class Sampling:
    """How many draws, at which error rate."""

    n0: int = setting(100, "Draws that choose the class (n0)", at_least=1, at_most=MOST_DRAWS)
    n: int = setting(10_000, "Draws that count its votes, at most (n)", at_least=1, at_most=MOST_DRAWS)
    alpha: float = setting(0.001, "Probability that a certificate is wrong (α)", at_least=1e-12, at_most=0.5)
    adaptive: bool = setting(False, "Stop when the question is decided")
    radius: float | None = setting(None, "Ask only whether the radius is at least this", at_least=0)
    two_class: bool = setting(False, "Bound the runner-up by its own votes, α/2 for each")

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            check_range(one.name, value, one.metadata.get("at_least"), one.metadata.get("at_most"))
        if self.two_class and self.adaptive and self.radius is not None:
            raise UsageError(
                "two_class bounds two classes, adaptive with a radius one. Leave out radius, or two_class."
            )


@dataclass(frozen=True)
class Reading:
    """What is told about the words inside a certified radius."""

    substitutes: str | None = setting(
        None, "Read an l2 radius as words: counter-fitted, wordnet, or a JSON file of synonyms"
    )
    antonyms: bool = setting(True, "Count the WordNet antonyms that each certificate ignores")
