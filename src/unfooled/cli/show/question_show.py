"""Attacks on questions in the terminal: F1 and exact match around the attack, and what was changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unfooled.cli.show.attack_show import append_changed, confirmed_text
from unfooled.files import JsonMapping
from unfooled.records.results.result import share_text
from unfooled.untrusted import printable

if TYPE_CHECKING:
    from rich.text import Text

    from unfooled.records.outcome import Outcome
    from unfooled.records.question_change import GivenAnswer

_NAMES = {"f1": "F1", "exact_match": "EM"}
_TIMES = {"before": "without attack", "after": "under attack", "after_verified": "re-verified on fresh noise"}


def score_lines(summary: JsonMapping) -> list[str]:
    """F1 and exact match before and after; nothing for other inputs."""
    found = []
    for name, shown in _NAMES.items():
        for time, words in _TIMES.items():
            if (mean := summary.get(f"{name}_{time}")) and mean["n"]:
                found.append(f"{f'{shown:<5} {words}':<40}{share_text(mean)}, {mean['n']:,} questions")
    return found


def question_text(outcome: Outcome, *, colour: bool) -> Text:
    """One success: the question, both answers, and the context with what changed in it."""
    from rich.text import Text

    change = outcome.question
    assert change is not None
    words = f", {len(outcome.changes)} of {outcome.words} words" if outcome.changes else ""
    facts = f"{printable(change.id)}: {_said(change.before)} → {_said(change.after)}{words}"
    shown = Text.assemble((f"\n{facts}{confirmed_text(outcome)}", "bold"), "\n")
    question, context = outcome.original
    right = " / ".join(map(printable, dict.fromkeys(change.truth))) or "no answer"
    shown.append(f"{printable(question)}  (right: {right})\n", style="dim")
    append_changed(shown, context, [one for one in outcome.changes if one.which == 1], colour=colour)
    if change.added and outcome.perturbed:
        sentence = printable(outcome.perturbed[1][slice(*change.added)])
        shown.append(" ")
        shown.append(sentence if colour else f"{{+{sentence}+}}", style="green" if colour else "")
    return shown


def _said(given: GivenAnswer | None) -> str:
    if given is None or not given.text:
        return "(no answer)"
    return f"«{printable(given.text)}» (F1 {given.f1:.2f})"
