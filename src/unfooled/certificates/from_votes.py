"""The certificate that the votes for one input give."""

from __future__ import annotations

from collections.abc import Sequence

from unfooled.certificates.procedure import Votes
from unfooled.certificates.radii import Radii
from unfooled.certificates.threats import Threat
from unfooled.predictors.smoothing.answer_votes import VotedAnswer
from unfooled.records.certificate import ABSTAINED, CERTIFIED, Certificate


def make_certificate(
    row: int,
    votes: Votes,
    radii: Radii,
    threat: Threat,
    *,
    labels: Sequence[str],
    answer: VotedAnswer | None = None,
    alpha: float,
    asked_radius: float | None = None,
    forwards_a_draw: int = 1,
    about: str = "The smoothed classifier",
    thing: str = "text",
) -> Certificate:
    """The certificate that these votes give; an abstention promises nothing.

    ``labels`` name what the votes are for. Of a question, ``answer`` is the one that leads.
    """
    leader = labels[votes.leader] if answer is None else answer.text
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
        span=None if answer is None else answer.span,
        # Answers to questions come up one by one: the first counts are about fewer of them.
        votes=dict(zip(labels, votes.counts, strict=answer is None)),
        selection_votes=dict(zip(labels, votes.selection, strict=answer is None)),
        samples=votes.samples,
        forwards=votes.samples * forwards_a_draw,
        alpha=alpha,
        sentence=threat.sentence(
            leader, radius, alpha, about=about, thing=thing, nothing=radii.changeable == 0
        )
        if votes.certified
        else _no_promise(thing, asked_radius if votes.answer else None),
        not_covered=threat.not_covered,
        words_substitutable=radii.changeable,
    )


def _no_promise(thing: str, asked: float | None) -> str:
    reason = f"show that a radius of {asked:g} holds" if asked else "decide its answer"
    return f"No promise is made for this {thing}: the votes do not {reason}."
