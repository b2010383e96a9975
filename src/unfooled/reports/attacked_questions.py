"""Attacked questions as the page shows them: answers, changed words and added sentences marked."""

from __future__ import annotations

from markupsafe import Markup

from unfooled.files import JsonObject
from unfooled.records.outcome import Outcome
from unfooled.records.question_change import GivenAnswer, QuestionChange
from unfooled.reports.formatting import visible
from unfooled.reports.marked import Layers, layered, segments

CONTEXT = 1
NO_ANSWER = "(no answer)"


def truth_text(change: QuestionChange) -> str:
    """All right answers, each once."""
    return visible(" / ".join(dict.fromkeys(change.truth))) or NO_ANSWER


def said(given: GivenAnswer | None) -> str | None:
    """An answer in words, with its F1; None if there is none to tell."""
    if given is None:
        return None
    quiet = ", abstained" if given.abstained else ""
    return f"{visible(given.text) or NO_ANSWER} (F1 {given.f1:.2f}{quiet})"


def pieces(outcome: Outcome, longest: int) -> list[list[str]]:
    """The context of a success in pieces, [text, classes]: ``del`` and ``new`` words, ``added`` sentence,
    ``right`` answers and the ``given`` one."""
    context, layers, taken_out = _marked_context(outcome)
    found: list[list[str]] = []
    for start, piece, classes in segments(context[:longest], layers):
        if (old := taken_out.get(start)) is not None:
            found += [[visible(old), "del"], [" ", ""]]
        found.append([visible(piece), classes])
    return found


def as_html(outcome: Outcome) -> Markup:
    """The same without a script; what was taken out stands in the original."""
    context, layers, _ = _marked_context(outcome)
    return layered(visible(context), layers)


def record_of(outcome: Outcome, longest: int) -> JsonObject:
    """What the example browser shows of an attacked question beside the facts of every attack."""
    change = outcome.question
    assert change is not None
    record: JsonObject = {"before": said(change.before)}
    if change.after is not None:
        record["after"] = said(change.after)
    if outcome.perturbed is not None:
        record["pieces"] = pieces(outcome, longest)
    elif change.copies and change.after is not None:
        record["message"] = f"the worst of {change.copies} copies"
    return record


def _marked_context(outcome: Outcome) -> tuple[str, Layers, dict[int, str]]:
    """The context after the attack, what is to be marked in it, and the words that were taken out."""
    change = outcome.question
    assert change is not None and outcome.perturbed is not None
    context, taken_out, new = outcome.perturbed[CONTEXT], dict[int, str](), list[tuple[int, int]]()
    edits = sorted((one for one in outcome.changes if one.which == CONTEXT), key=lambda one: one.start)

    def moved(place: int) -> int:
        """Where a character of the original stands now."""
        return place + sum(len(one.after) - len(one.before) for one in edits if one.end <= place)

    for one in edits:
        start = moved(one.start)
        taken_out[start] = one.before
        new.append((start, start + len(one.after)))
    given = change.after.span if change.after and change.after.text else None
    return (
        context,
        [
            ("new", new),
            ("added", [change.added] if change.added else []),
            ("right", [(moved(start), moved(start) + end - start) for start, end in change.right]),
            ("given", [given] if given else []),
        ],
        taken_out,
    )
