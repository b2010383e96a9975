"""One attack on one example: what it knows, what it may change, what it has spent.

A recipe is a generator. It asks through its :class:`Attempt` with ``yield from``, and the scheduler answers
the requests of many attempts together:

>>> def search(attempt):
...     trials = yield from attempt.ask([attempt.original.replace(2, "movie")])
...     return next((trial.document for trial in trials if trial.reached), None)
"""

from __future__ import annotations

import random
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from unfooled.attacks.budget import Budget
from unfooled.attacks.goals import Goal
from unfooled.attacks.limits import Limits
from unfooled.attacks.parts.protection import protected
from unfooled.attacks.victim import Answer, Asked, Gradients, Query, derived_key
from unfooled.records.outcome import LimitHit
from unfooled.records.question_change import QuestionChange
from unfooled.words.document import Document

if TYPE_CHECKING:
    from unfooled.lexicon.tagger import Tag

T = TypeVar("T")


@dataclass(frozen=True)
class Request:
    """Items for one of the scheduler's services; the answer is a list, one entry an item."""

    service: str
    items: tuple[object, ...]
    options: tuple[tuple[str, object], ...] = ()


Steps = Generator[Request, list[Any], T]


class NothingToChange(Exception):
    """The example has no word that the recipe could change."""


@dataclass(frozen=True)
class Example:
    """One labelled input."""

    row: int
    texts: Query
    label: int


@dataclass(frozen=True)
class Trial:
    """A perturbed document, the victim's answer, and what it means for the attack."""

    document: Document
    answer: Answer
    score: float
    reached: bool


@dataclass
class Attempt(Budget):
    """State of one attack; recipes read it and ask through it."""

    example: Example
    limits: Limits
    seed: int
    randomised: bool
    label_names: tuple[str, ...] = ()
    """Names of the classes, for recipes that attack only some of them; empty if unknown."""
    confirms: bool = False
    """The victim answers roughly: what decides the outcome is asked again, exactly."""
    original: Document = field(init=False)
    rng: random.Random = field(init=False)
    goal: Goal = field(init=False)
    first: Answer = field(init=False)
    """The answer to the untouched input."""
    queries: int = 0
    forwards: int = 0
    seconds: float = 0.0
    limit_hit: LimitHit = ""
    search_over: bool = False
    tried: bool = False
    """A changed text was asked about that might have been the result."""
    last: Answer | None = None
    """The answer to the result, once there is one, …"""
    again: list[Answer] = field(default_factory=list)
    """… and fresh answers to it, of a randomised victim."""
    reaching: dict[Query, Answer] = field(default_factory=dict)
    """The answers that reached the goal; a recipe may only return a document that is here."""

    def __post_init__(self) -> None:
        self.original = Document.of(*self.example.texts)
        self._key = derived_key(self.seed, self.example.row, *self.example.texts)
        self.rng = random.Random(self._key)
        self._answers: dict[Query, Answer] = {}
        self._drawn = 0
        self._last: dict[Query, Asked] = {}

    @property
    def changeable(self) -> list[int]:
        """The words that may change: not protected, in the chosen sentence."""
        wanted = {"either": (0, 1), "first": (0,), "second": (1,)}[self.limits.sentence]
        untouchable = protected(self.original, self.limits)
        return [
            number
            for number, (which, _, _) in enumerate(self.original.spans)
            if number not in untouchable and (which in wanted or len(self.original.texts) == 1)
        ]

    @property
    def max_changes(self) -> int:
        """How many words may change in all; a share above 0 allows at least one."""
        if self.limits.max_changed <= 0:
            return 0
        # 0.29 × 100 is a little less than 29 in floating point.
        return max(1, int(self.limits.max_changed * self.size + 1e-9))

    @property
    def size(self) -> int:
        """How many words a share of words is a share of."""
        return len(self.original)

    def check_changeable(self) -> None:
        """Raise ``NothingToChange`` where the limits forbid every change."""
        if not self.changeable or self.max_changes == 0:
            raise NothingToChange("no word may change")

    def question_change(self) -> QuestionChange | None:
        """What only the outcome of a question says."""
        return None

    def ask(self, documents: Iterable[Document], *, ranking: bool = False) -> Steps[list[Trial]]:
        """The victim's answers, in order; fewer than asked for when the budget ends.

        Of an iterator no more is taken than the budget allows, and one to see whether it goes on. Queries
        that only put the words in order (``ranking``) try no substitution.
        """
        documents = self._affordable(documents)
        self.tried |= bool(documents) and not ranking
        answers = yield from self.answered([document.texts for document in documents])
        self.queries += len(documents)
        trials = [self._trial(document, answer) for document, answer in zip(documents, answers, strict=True)]
        if self.confirms:
            trials = yield from self._confirmed(trials)
        self.reaching.update({trial.document.texts: trial.answer for trial in trials if trial.reached})
        return trials

    def ask_original(self) -> Steps[Answer]:
        """The first query of every attack."""
        if self.confirms:
            self._asked(self.original.texts)
            (self.first,) = yield from self._exactly([self.original.texts])
        else:
            (self.first,) = yield from self.answered([self.original.texts])
        self.queries += 1
        return self.first

    def fresh(self, document: Document, count: int) -> Steps[list[Answer]]:
        """Independent answers to the same document, outside the query count."""
        service = "confirmed" if self.confirms else "victim"
        answers: list[Answer] = yield Request(
            service, tuple(self._asked(document.texts) for _ in range(count))
        )
        return answers

    def gradients(self, document: Document, label: int, *, draws: int = 1) -> Steps[Gradients]:
        """The gradient at each token; counts as one query."""
        self.check_budget()
        self.queries += 1
        item = (self._asked(document.texts), label)
        (found,) = yield Request("gradients", (item,), (("draws", draws),))
        self.forwards += found.forwards
        result: Gradients = found
        return result

    def expected(self, documents: Iterable[Document], *, draws: int) -> Steps[list[Answer]]:
        """Mean probabilities over the victim's randomness (white box); each counts as one query."""
        documents = self._affordable(documents)
        self.tried |= any(document is not self.original for document in documents)
        items = tuple(self._asked(document.texts) for document in documents)
        answers: list[Answer] = (yield Request("expected", items, (("draws", draws),))) if items else []
        self.queries += len(items)
        self.forwards += sum(answer.forwards for answer in answers)
        return answers

    def embeddings(self, words: Sequence[str]) -> Steps[list[np.ndarray]]:
        """The victim's own embedding of each word (white box)."""
        self.check_time()
        found: list[np.ndarray] = yield Request("embedding", tuple(words))
        return found

    def tags(self, texts: Sequence[str]) -> Steps[list[tuple[Tag, ...]]]:
        """Part-of-speech tags of each text."""
        self.check_time()
        if not texts:
            return []
        found: list[tuple[Tag, ...]] = yield Request("tags", tuple(texts))
        return found

    def similarities(self, pairs: Sequence[tuple[str, str]]) -> Steps[list[float]]:
        """Sentence similarity of each pair of texts."""
        self.check_time()
        if not pairs:
            return []
        found: list[float] = yield Request("similarity", tuple(pairs))
        return found

    def fillings(self, spans: Sequence[tuple[str, int, int]], *, count: int) -> Steps[list[list[str]]]:
        """Words a masked language model puts at each (text, start, end)."""
        self.check_time()
        if not spans:
            return []
        found: list[list[str]] = yield Request("fill", tuple(spans), (("count", count),))
        return found

    def _affordable(self, documents: Iterable[Document]) -> list[Document]:
        self.check_time()
        waiting = iter(documents)
        if (first := next(waiting, None)) is None:
            return []
        self.check_budget()
        found = [first, *islice(waiting, self.limits.query_budget - self.queries - 1)]
        if next(waiting, None) is not None:
            self.limit_hit = "queries"
        return found

    def answered(self, queries: Sequence[Query]) -> Steps[list[Answer]]:
        """Answers from the cache or the victim."""
        if self.randomised and not self.limits.cache_answers:
            answers: list[Answer] = []
            if queries:
                answers = yield Request("victim", tuple(self._asked(query) for query in queries))
            self.forwards += sum(answer.forwards for answer in answers)
            return answers
        new = [query for query in dict.fromkeys(queries) if query not in self._answers]
        if new:
            found = yield Request("victim", tuple(self._asked(query) for query in new))
            self._answers.update(zip(new, found, strict=True))
            self.forwards += sum(answer.forwards for answer in found)
        return [self._answers[query] for query in queries]

    def _asked(self, query: Query) -> Asked:
        self._drawn += 1
        asked = self._as_asked(query, derived_key(self._key, self._drawn))
        if self.confirms:
            self._last[query] = asked
        return asked

    def _as_asked(self, query: Query, key: int) -> Asked[Any]:
        return Asked(query, key)

    def _trial(self, document: Document, answer: Answer) -> Trial:
        return Trial(document, answer, self.goal.score(answer), self.goal.reached(answer))

    def _confirmed(self, trials: list[Trial]) -> Steps[list[Trial]]:
        """The trials, those that reached the goal by their exact answers."""
        reached = [number for number, trial in enumerate(trials) if trial.reached]
        exact = yield from self._exactly([trials[number].document.texts for number in reached])
        found = list(trials)
        for number, answer in zip(reached, exact, strict=True):
            found[number] = self._trial(trials[number].document, answer)
        return found

    def _exactly(self, queries: Sequence[Query]) -> Steps[list[Answer]]:
        """The same queries under the same noise, answered exactly; from here on they are known so."""
        if not queries:
            return []
        answers: list[Answer] = yield Request("confirmed", tuple(self._last[query] for query in queries))
        self.forwards += sum(answer.forwards for answer in answers)
        self._answers.update(zip(queries, answers, strict=True))
        return answers
