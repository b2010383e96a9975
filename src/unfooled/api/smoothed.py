"""Any victim made a smoothed classifier: the majority of its answers over random versions of the text.

>>> clf = smoothed("sklearn:spam.skops", predictor={"name": "random-delete", "rates": [0.5]})
>>> clf.predict(["WIN a prize now"], certified=True)[0].label
'spam'

Only answers are needed, so this works with everything that can be attacked. The majority is what
``uf.certify`` certifies; the victim by itself is not certified.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unfooled.api.predict import certified_mode
from unfooled.api.target import Target, open_target, travelling
from unfooled.attacks.victim import Asked, Victim
from unfooled.attacks.victims.scores import HARMLESS, BadAnswer
from unfooled.errors import UsageError, UserError
from unfooled.models import BlackBox
from unfooled.models.black_box import Texts
from unfooled.predictors import Classifier
from unfooled.predictors.override import PredictorChoice, named_settings
from unfooled.predictors.registry import make_predictor
from unfooled.predictors.smoothing import RandomWordDelete, RandomWordMask, SmoothedVote, SynonymVote
from unfooled.records.results.predictions import Predictions

if TYPE_CHECKING:
    from unfooled.predictors.predictor import Predictor

WORD_VOTES: tuple[type[SmoothedVote], ...] = (RandomWordDelete, RandomWordMask, SynonymVote)
"""The predictors that need only answers; the first is the default."""


def smoothed(
    victim: str | Path | Classifier | Victim | Callable[..., Any] | Target,
    *,
    predictor: PredictorChoice = None,
    empty: str | None = None,
    max_queries: int | None = None,
    device: str = "auto",
) -> Smoothed:
    """The majority of ``victim`` over random versions of a text, as a classifier.

    ``victim`` is whatever ``uf.attack`` accepts and must always give a text the same answer. ``predictor`` is
    ``random-delete`` (the default), ``safer``, or ``random-mask`` for a victim with a mask token, by its name
    or with settings. ``empty`` is the label of a text of which no word is left; without it the victim is
    asked about the empty text. ``max_queries`` is the largest number of texts the victim is asked about.
    """
    target = open_target(victim, device=device)
    if target.victim.randomised:
        raise UsageError(
            f"{target.name} is randomised: it may give another answer to the same text next time, and a "
            "majority of such answers is not certified. Switch its randomness off, and leave out "
            "randomised=True if it was given."
        )
    name, settings = named_settings(predictor)
    made = make_predictor(name or WORD_VOTES[0].name, settings)
    _check_words_only(made, target)
    labels, empty = _labels(target.victim), target.empty if empty is None else empty
    if empty is not None and empty not in labels:
        raise UsageError(f"empty: there is no label {empty!r}. Labels: {', '.join(labels)}.")
    if max_queries is not None and max_queries < 1:
        raise UsageError(f"max_queries must be at least 1, got {max_queries}.")
    model = BlackBox(
        _asks(target),
        name=target.name,
        classes=len(labels),
        identity=target.identity,
        mask=getattr(target.victim, "mask_token", None),
        empty=None if empty is None else labels.index(empty),
        max_queries=max_queries,
    )
    return Smoothed(model, made, labels=labels, target=target)


def smoothed_for(threat: str, target: Target, *, max_queries: int | None) -> Smoothed:
    """The victim under the predictor that certifies the threat."""
    if threat == "synonyms":
        name = SynonymVote.name
    elif threat == "words" and getattr(target.victim, "mask_token", None):
        name = RandomWordMask.name
    else:
        name = RandomWordDelete.name
    return smoothed(target, predictor=name, max_queries=max_queries)


class Smoothed(Classifier):
    """A victim under a vote over random versions of its texts; made by :func:`smoothed`."""

    model: BlackBox

    def __init__(
        self, model: BlackBox, predictor: Predictor, *, labels: Sequence[str], target: Target
    ) -> None:
        super().__init__(model, predictor, labels=labels, defence="none")
        self.target = target
        """The victim that is asked."""

    def __repr__(self) -> str:
        return f"Smoothed({self.target.name!r}, predictor={self.predictor!r}, labels={self.labels!r})"

    def with_predictor(self, predictor: Predictor) -> Smoothed:
        return Smoothed(self.model, predictor, labels=self.labels, target=self.target)

    def predict(
        self,
        inputs: Any,
        pairs: Sequence[str] | None = None,
        *,
        seed: int | None = 0,
        certified: bool = False,
        error_rate: float = 0.001,
        max_votes: int = 1000,
    ) -> Predictions:
        """One :class:`Prediction` per text, in order, with its votes.

        ``certified=True``: the majority that certificates are about, or an abstention. An answer that is
        given differs from that majority with probability at most ``error_rate``; the seed is secret.
        """
        if not certified:
            return super().predict(inputs, pairs, seed=seed)
        if seed not in (0, None):
            raise UsageError("certified answers draw a secret seed: leave out seed.")
        return certified_mode(self, error_rate=error_rate, max_votes=max_votes).predict(
            inputs, pairs, seed=None
        )

    def opening(self) -> SmoothedOpening:
        """How another process opens it; refused if the victim exists only in this one."""
        if self.model.max_queries is not None:
            raise UsageError("max_queries is counted in one process: leave out workers and ray, or it.")
        empty = None if self.model.empty is None else self.labels[self.model.empty]
        return SmoothedOpening(travelling(self.target), self.predictor.describe(), empty)


@dataclass(frozen=True)
class SmoothedOpening:
    """How worker processes open a smoothed victim."""

    victim: Any
    predictor: Mapping[str, object]
    empty: str | None

    def open_classifier(self) -> Smoothed:
        return smoothed(self.victim.open(), predictor=self.predictor, empty=self.empty)

    def open(self) -> Target:
        return open_target(self.open_classifier())


def _check_words_only(predictor: Predictor, target: Target) -> None:
    if not isinstance(predictor, WORD_VOTES):
        names = ", ".join(kind.name for kind in WORD_VOTES)
        raise UsageError(
            f"The predictor '{predictor.describe()['name']}' needs more of {target.name} than its answers. "
            f"With answers alone there are: {names}."
        )


def _labels(victim: Victim) -> tuple[str, ...]:
    """The class names; one that has none is asked about a text, to learn how many classes there are."""
    for query in ((HARMLESS,), (HARMLESS, HARMLESS)):
        if victim.labels:
            break
        try:
            victim.answers([Asked(query)])
        except Exception:
            if len(query) == 2:
                raise
    return tuple(victim.labels)


def _asks(target: Target) -> Callable[[Sequence[Texts]], list[tuple[float, ...]]]:
    def ask(texts: Sequence[Texts]) -> list[tuple[float, ...]]:
        try:
            return [answer.scores for answer in target.victim.answers([Asked(own) for own in texts])]
        except UserError:
            raise
        except Exception as error:
            reason = str(error) if isinstance(error, BadAnswer) else f"{type(error).__name__}: {error}"
            raise UserError(
                f"{target.name} did not answer a random version of a text: {reason}. A vote needs an answer "
                "to every version, and to the empty text too: let it answer them, or name the label of the "
                "empty text with empty=LABEL (--victim-set empty=LABEL)."
            ) from error

    return ask
