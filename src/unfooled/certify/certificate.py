"""A certificate: the answer for one input, the radius it provably keeps, and what that means and does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from unfooled.certify.procedure import Votes
from unfooled.certify.radii import Radii
from unfooled.certify.threats import Threat

CERTIFIED, ABSTAINED, REFUSED = "certified", "abstained", "refused"


@dataclass(frozen=True)
class Certificate:
    """The result for one input."""

    row: int
    status: str
    """certified, abstained, or refused."""
    threat: str
    label: str | None = None
    """The certified answer; None if there is none."""
    leader: str | None = None
    """The class that led the selection, certified or not."""
    truth: str | None = None
    correct: bool | None = None
    """Whether the certified answer is the true one; None if the truth is unknown."""
    radius: float = 0.0
    unit: str = ""
    bound: str = ""
    radii: dict[str, float] = field(default_factory=dict)
    """The radius by every bound that was asked for, from the same votes."""
    asked_radius: float | None = None
    answer: str | None = None
    """To «is the radius at least asked_radius?»: yes, no, undecided."""
    p_top: float = 0.0
    p_second: float = 1.0
    votes: dict[str, int] = field(default_factory=dict)
    selection_votes: dict[str, int] = field(default_factory=dict)
    samples: int = 0
    forwards: int = 0
    alpha: float = 0.0
    sentence: str = ""
    """What is promised, in one sentence."""
    not_covered: str = ""
    words_covered: int | None = None
    """How many words may be replaced by listed substitutes with the same number of tokens (l2)."""
    words_substitutable: int | None = None
    """How many words have such substitutes (l2), or listed substitutes at all (synonyms)."""
    antonyms_inside: int | None = None
    """Single WordNet antonyms that lie inside: changes of meaning that the answer is certified to ignore."""
    antonyms_considered: int | None = None
    antonym_examples: tuple[tuple[str, str], ...] = ()
    """(word, antonym), at most three."""
    texts: tuple[str, ...] = ()
    truncated: bool = False
    seconds: float = 0.0
    message: str = ""
    """Why the input was refused."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Certificate:
        """As written by :meth:`to_dict`, also through JSON."""
        values = dict(saved)
        values["texts"] = tuple(values["texts"])
        values["antonym_examples"] = tuple((a, b) for a, b in values["antonym_examples"])
        return cls(**values)

    def with_truth(self, truth: str) -> Certificate:
        correct = self.label == truth if self.status != REFUSED else None
        return replace(self, truth=truth, correct=correct)


def make_certificate(
    row: int,
    votes: Votes,
    radii: Radii,
    threat: Threat,
    *,
    labels: Sequence[str],
    alpha: float,
    asked_radius: float | None = None,
    forwards_a_draw: int = 1,
    thing: str = "text",
) -> Certificate:
    """The certificate that these votes give; an abstention promises nothing."""
    leader = labels[votes.leader]
    found = radii.every(votes.p_top, votes.p_second) if votes.certified else dict.fromkeys(radii.names, 0.0)
    radius = found[radii.names[0]]
    return Certificate(
        row=row,
        status=CERTIFIED if votes.certified else ABSTAINED,
        threat=threat.name,
        label=leader if votes.certified else None,
        leader=leader,
        radius=radius,
        unit=threat.unit,
        bound=radii.names[0],
        radii=found,
        asked_radius=asked_radius,
        answer=votes.answer,
        p_top=votes.p_top if votes.certified else 0.0,
        p_second=votes.p_second if votes.certified else 1.0,
        votes=dict(zip(labels, votes.counts, strict=True)),
        selection_votes=dict(zip(labels, votes.selection, strict=True)),
        samples=votes.samples,
        forwards=votes.samples * forwards_a_draw,
        alpha=alpha,
        sentence=threat.sentence(leader, radius, alpha, thing=thing, nothing=radii.changeable == 0)
        if votes.certified
        else _no_promise(thing, asked_radius if votes.answer else None),
        not_covered=threat.not_covered,
        words_substitutable=radii.changeable,
    )


def _no_promise(thing: str, asked: float | None) -> str:
    reason = f"show that a radius of {asked:g} holds" if asked else "decide its answer"
    return f"No promise is made for this {thing}: the votes do not {reason}."
