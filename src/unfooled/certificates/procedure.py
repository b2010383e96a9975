"""The sampling procedure (Cohen et al. 2019, CERTIFY): choose a class, bound its probability, or abstain.

n0 draws choose the class; n other draws count its votes. Clopper–Pearson at α bounds its probability from
below, and 1 − that bound every other class from above: unless it is above ½ the answer is *abstain*.
``two_class`` bounds the class and the runner-up at α/2 each, and abstains unless the first bound is above the
second, which may happen below ½; that pays where several classes share the rest. ``adaptive`` stops early at
the same α, by tests that hold at every stopping time:

- With a question «is the radius at least r?»: :class:`SequentialDecision`, until yes, no, or n draws.
- Without one: a confidence sequence, until n draws; until the class is excluded (its upper bound is at most
  ½); or until twice as many draws with the same share of votes would not raise the radius by a tenth (a
  radius in words: until n draws with that share would not cover one word more).

Inputs are looked at after fixed numbers of draws, so nothing depends on which of them are worked on
together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unfooled.certificates.radii import Radii, the_rest
from unfooled.certificates.sampling import Sampling
from unfooled.errors import UsageError
from unfooled.predictors.smoothing.streams import VoteCounter
from unfooled.statistics.confidence import (
    ConfidenceSequence,
    SequentialDecision,
    Verdict,
    clopper_pearson_lower,
    sequence_lower,
    sequence_upper,
    two_class_bounds,
)

DRAWS_A_ROUND = 4096
"""Draws asked for at once, over all inputs in work: memory, not results, depend on it."""
FIRST_LOOK, LOOK_GROWTH = 32, 1.25
QUICK_SELECTION, QUICK_LEAD = 16, 15
"""An adaptive selection ends after 16 draws if 15 agree. How the class is chosen costs nothing of α."""
WORTH_IT = 1.1


@dataclass(frozen=True)
class Smoother:
    """The draws of some inputs. The two samplers have streams of their own: no draw serves both."""

    select: VoteCounter
    """Chooses the class (n0 draws)."""
    estimate: VoteCounter
    """Counts its votes (n draws)."""
    classes: int
    """0: answers come up while they are given, and later counts may be longer."""
    inputs: int


@dataclass(frozen=True)
class Votes:
    """The votes of one input and what they prove."""

    leader: int
    """The class that was chosen."""
    certified: bool
    """False: abstain. The bounds then prove nothing about the leader."""
    p_top: float
    """Lower bound of the leader's probability."""
    p_second: float
    """Upper bound of every other class's."""
    selection: tuple[int, ...]
    counts: tuple[int, ...]
    answer: str | None = None
    """To the question, if one was asked: yes, no, or undecided."""

    @property
    def samples(self) -> int:
        return sum(self.selection) + sum(self.counts)


def sample_votes(
    smoother: Smoother,
    sampling: Sampling,
    radii: Callable[[int], Radii],
    *,
    inputs: Iterable[int] | None = None,
    in_flight: int = 16,
) -> Iterator[tuple[int, Votes]]:
    """(number, votes) of each input as it is finished; ``radii`` gives the radius functions of an input.

    Guarantee, for each input by itself: with probability at least 1 − α over the draws, ``p_top`` and
    ``p_second`` hold if ``certified``, and so does every radius computed from them.
    """
    waiting = list(range(smoother.inputs) if inputs is None else inputs)[::-1]
    active: dict[int, _Case] = {}
    while waiting or active:
        while waiting and len(active) < in_flight:
            number = waiting.pop()
            active[number] = _Case(smoother.classes, sampling, radii(number))
        share = max(64, DRAWS_A_ROUND // len(active) // 64 * 64)  # whole blocks of draws
        for sampler, selecting in ((smoother.select, True), (smoother.estimate, False)):
            cases = {
                number: case
                for number, case in active.items()
                if case.selecting is selecting and case.votes is None
            }
            if not cases:
                continue
            wanted = {number: min(case.wanted, share) for number, case in cases.items()}
            found = sampler.counts([(number, cases[number].drawn, size) for number, size in wanted.items()])
            for number, counts in zip(wanted, found, strict=True):
                cases[number].take(counts)
        for number in [number for number, case in active.items() if case.votes is not None]:
            votes = active.pop(number).votes
            assert votes is not None
            yield number, votes


class _Case:
    """One input on its way: selection, then estimation, look by look."""

    def __init__(self, classes: int, sampling: Sampling, radii: Radii) -> None:
        self._sampling, self._radii = sampling, radii
        self._counts: NDArray[np.int64] = np.zeros(classes, dtype=np.int64)
        self._selection: tuple[int, ...] = ()
        self._leader = 0
        self._seen = (0, 0)  # votes of the leader and draws at the last look
        self._test: Any = None
        self._two_class = sampling.two_class and (classes > 2 or not classes)
        self._second = 1.0  # what no other class exceeds, as far as is known
        self.selecting = True
        self.votes: Votes | None = None
        quick = sampling.adaptive and sampling.n0 > QUICK_SELECTION
        self._until = QUICK_SELECTION if quick else sampling.n0

    @property
    def drawn(self) -> int:
        return int(self._counts.sum())

    @property
    def wanted(self) -> int:
        """Draws until the next look."""
        return self._until - self.drawn

    def take(self, counts: NDArray[np.int64]) -> None:
        more = len(counts) - len(self._counts)
        if more > 0:
            self._counts = np.pad(self._counts, (0, more))
        self._counts[: len(counts)] += counts
        if self.wanted > 0:
            return
        if self.selecting:
            self._select()
        else:
            self._look()

    def _select(self) -> None:
        if self.drawn < self._sampling.n0 and self._counts.max() < QUICK_LEAD:
            self._until = self._sampling.n0
            return
        self.selecting = False
        self._leader = int(self._counts.argmax())
        self._selection = tuple(self._counts.tolist())
        self._counts = np.zeros_like(self._counts)
        sampling = self._sampling
        self._until = min(FIRST_LOOK, sampling.n) if sampling.adaptive else sampling.n
        if not sampling.adaptive:
            return
        if sampling.radius is None:
            self._test = ConfidenceSequence(sampling.alpha / 2 if self._two_class else sampling.alpha)
            return
        threshold = self._radii.threshold(sampling.radius)
        if threshold is None:  # out of reach, however many draws agree
            self._finish(0.0, certified=False, answer="no")
        else:
            self._test = SequentialDecision(threshold, sampling.alpha, max_samples=sampling.n)

    def _look(self) -> None:
        sampling, hits, drawn = self._sampling, int(self._counts[self._leader]), self.drawn
        new = hits - self._seen[0], drawn - self._seen[1]
        self._seen = hits, drawn
        if not sampling.adaptive:
            self._fixed(hits, drawn)
        elif sampling.radius is not None:
            answer = self._test.update(*new)
            if not self._test.open:
                name = {Verdict.YES: "yes", Verdict.NO: "no", Verdict.UNDECIDED: "undecided"}[answer]
                self._finish(self._test.threshold, certified=answer is Verdict.YES, answer=name)
        else:
            self._test.update(*new)
            self._second = min(self._second, self._rest(self._test.lower, drawn, 1))
            if drawn >= sampling.n or self._excluded(drawn) or not self._worth_more(hits, drawn):
                low, high = self._test.lower, self._second
                self._finish(low, high, certified=low > (high if self._two_class else 0.5))
        self._until = min(sampling.n, max(drawn + FIRST_LOOK, int(drawn * LOOK_GROWTH)))

    def _fixed(self, hits: int, drawn: int) -> None:
        sampling = self._sampling
        if self._two_class:
            top, second = two_class_bounds(hits, self._largest_other, drawn, sampling.alpha)
            self._finish(top, second, certified=top > second)
        else:
            top = clopper_pearson_lower(hits, drawn, sampling.alpha)
            self._finish(top, certified=top > 0.5)

    def _worth_more(self, hits: int, drawn: int) -> bool:
        """Whether more draws may raise the radius: twice as many by a tenth, or all of them by a word."""
        now = float(self._test.lower)
        if now <= (self._second if self._two_class else 0.5):
            return True
        ahead = self._sampling.n / drawn if self._radii.whole else 2
        later = max(now, sequence_lower(int(hits * ahead), int(drawn * ahead), self._test.alpha))
        then = min(self._second, self._rest(later, drawn, ahead))
        reached, expected = (self._radii.certified(*pair) for pair in ((now, self._second), (later, then)))
        return expected > reached if self._radii.whole else expected >= WORTH_IT * reached

    def _rest(self, lower: float, drawn: int, ahead: float) -> float:
        """What no other class exceeds, at all looks at once; or will, with ``ahead`` times the draws.

        The class that is second in truth has at most the votes of the one that is second in the count.
        """
        rest = the_rest(lower)
        if not self._two_class:
            return rest
        votes = self._largest_other
        return min(rest, sequence_upper(int(votes * ahead), int(drawn * ahead), self._test.alpha))

    @property
    def _largest_other(self) -> int:
        """The votes of the class that is second in the count; there may be one class alone so far."""
        return int(np.delete(self._counts, self._leader).max(initial=0))

    def _excluded(self, drawn: int) -> bool:
        """Whether the votes show that the class does not lead: more draws would be wasted."""
        if not self._two_class:
            return bool(self._test.upper <= 0.5)
        votes = self._largest_other
        return bool(self._test.upper <= sequence_lower(votes, drawn, self._test.alpha))

    def _finish(
        self, p_top: float, p_second: float | None = None, *, certified: bool, answer: str | None = None
    ) -> None:
        top = float(p_top)
        self.votes = Votes(
            leader=self._leader,
            certified=certified,
            p_top=top,
            p_second=the_rest(top) if p_second is None else float(p_second),
            selection=self._selection,
            counts=tuple(self._counts.tolist()),
            answer=answer or self._reached(top, p_second, certified=certified),
        )

    def _reached(self, top: float, second: float | None, *, certified: bool) -> str | None:
        """The answer of a fixed number of draws; an abstention reaches nothing, not even a radius of 0."""
        asked = self._sampling.radius
        if asked is None:
            return None
        found = self._radii.certified(top, the_rest(top) if second is None else second)
        return "yes" if certified and found >= asked else "no"


def check_sampling(sampling: Sampling, names: Sequence[str]) -> None:
    """Word radii are whole numbers."""
    words = sampling.radius is not None and names and names[0] in ("masking", "deletion", "overlap")
    if words and sampling.radius != int(sampling.radius or 0):
        raise UsageError(f"--radius counts words for this threat: a whole number, not {sampling.radius}.")
