"""Greedy word substitution (Jin et al. 2020, Algorithm 1), shared by the recipes that change word after word.

In the given order each word's candidates are tried in the text as changed so far. If some reach the goal, the
one most similar to the reference is the result; otherwise the candidate with the highest score is kept if it
is better than what stands there.
"""

from __future__ import annotations

from collections.abc import Iterable

from unfooled.attacks.attempt import Attempt, Steps
from unfooled.attacks.parts.candidates import Candidates
from unfooled.attacks.parts.constraints import Constraints
from unfooled.words.document import Document


def greedy(
    attempt: Attempt,
    order: Iterable[int],
    candidates: Candidates,
    *,
    constraints: Constraints | None = None,
    max_changes: int | None = None,
    keep_case: bool = True,
) -> Steps[Document | None]:
    """The document that reached the goal, or None."""
    current, score = attempt.original, attempt.goal.score(attempt.first)
    left = attempt.max_changes if max_changes is None else min(max_changes, attempt.max_changes)
    for number in order:
        if left == 0:
            break
        words = yield from candidates(current, number)
        documents = substituted(current, number, words, keep_case=keep_case)
        found = yield from (constraints or UNCONSTRAINED).allowed(attempt, current, number, documents)
        trials = yield from attempt.ask([one.document for one in found])
        reached = [(one, trial) for one, trial in zip(found, trials, strict=False) if trial.reached]
        if reached:
            return max(reached, key=lambda pair: (pair[0].similarity, pair[1].score))[0].document
        best = max(trials, key=lambda trial: trial.score, default=None)
        if best is not None and best.score > score:
            current, score, left = best.document, best.score, left - 1
    return None


UNCONSTRAINED = Constraints(same_pos=False)


def substituted(
    current: Document, number: int, words: Iterable[str], *, keep_case: bool = True
) -> list[Document]:
    """The text with each word in turn at place ``number``, without repetitions and the text itself."""
    documents = {
        document.texts: document
        for document in (current.replace(number, word, keep_case=keep_case) for word in words)
        if document.texts != current.texts
    }
    return list(documents.values())
