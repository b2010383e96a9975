"""Which tokens a randomised predictor hides, and the noise it adds: what all its variants share."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from unfooled.errors import UsageError
from unfooled.models import EncodedInput, Model, Noise, Site, as_texts, input_key, mix
from unfooled.predictors.ballots import Ballot
from unfooled.predictors.predictor import Seed
from unfooled.predictors.saliency import salient_positions

Masking = Literal["gradient", "random", "none"]
TOP_STREAM, RANDOM_STREAM, POSITION_STREAM = 1, 2, 3


@dataclass(frozen=True)
class MaskPlan:
    """The inputs of one ``decide`` call with their keys and ranked tokens."""

    keys: list[int]
    ranked: list[list[int]]
    """Candidates (N) of each input, most salient first."""
    amounts: list[int]
    """How many tokens of each input are masked (M)."""
    saliency_forwards: int
    """Forward passes already spent on each input."""
    unranked: bool = False
    """The candidates are in no order of salience (random masking)."""

    def top(self, owner: int, draw: int) -> Ballot:
        """Vote ``draw`` of the first stage: the top-M tokens (any M if unranked) masked, fresh noise."""
        if self.unranked:
            return self._drawn(owner, draw, TOP_STREAM)
        key = mix(self.keys[owner], TOP_STREAM, draw)
        return Ballot(owner, tuple(self.ranked[owner][: self.amounts[owner]]), key)

    def sampled(self, owner: int, draw: int) -> Ballot:
        """Vote ``draw`` of the second stage: M tokens drawn from the candidates, fresh noise."""
        return self._drawn(owner, draw, RANDOM_STREAM)

    def _drawn(self, owner: int, draw: int, stream: int) -> Ballot:
        chooser = random.Random(mix(self.keys[owner], POSITION_STREAM, stream, draw))
        candidates = self.ranked[owner]
        chosen = chooser.sample(candidates, min(self.amounts[owner], len(candidates)))
        return Ballot(owner, tuple(chosen), mix(self.keys[owner], stream, draw))


def make_plan(
    model: Model,
    encoded: Sequence[EncodedInput],
    *,
    seed: Seed,
    noise: Noise,
    masking: Masking,
    masked_tokens: int,
    candidates: int,
    saliency_draws: int,
    masked_share: float | None = None,
) -> MaskPlan:
    """Keys for every input and its masking candidates: by saliency, all of them, or none."""
    seeds = [seed] * len(encoded) if isinstance(seed, int) else seed
    keys = [input_key(own, item.key()) for own, item in zip(seeds, encoded, strict=True)]
    if masking == "none" or masked_tokens == 0:
        return MaskPlan(keys, [[] for _ in encoded], [0] * len(encoded), 0)
    amounts = [amount(sum(item.maskable), masked_tokens, masked_share) for item in as_texts(encoded)]
    if masking == "random":
        everything = [[i for i, allowed in enumerate(item.maskable) if allowed] for item in as_texts(encoded)]
        return MaskPlan(keys, everything, amounts, 0, unranked=True)
    ranked = salient_positions(
        model, encoded, keys, noise=noise, draws=saliency_draws, count=max(candidates, masked_tokens)
    )
    if masked_share is not None:
        ranked = [own[: 2 * masked + 1] for own, masked in zip(ranked, amounts, strict=True)]
    return MaskPlan(keys, ranked, amounts, saliency_draws)


def amount(words: int, masked_tokens: int, masked_share: float | None) -> int:
    """How many of an input's ``words`` maskable tokens are masked: M, or a share of them up to M.

    The share is rounded to the nearest whole number, so that of a text shorter than half a token's share
    nothing is masked: there one token may be all that carries the meaning.
    """
    if masked_share is None:
        return masked_tokens
    return min(masked_tokens, math.floor(masked_share * words + 0.5))


def check_randomisation(
    model: Model,
    *,
    sites: tuple[Site, ...],
    sigma: float,
    masking: Masking,
    masked_tokens: int,
    candidates: int,
) -> None:
    """Refuse settings that cannot work with this encoder, before any work."""
    model.check_sites(sites)
    if masking != "none" and masked_tokens > 0 and (reason := model.mask_refusal()):
        raise UsageError(f"masked_tokens: {reason}, or set masked_tokens=0.")
    if masking == "gradient" and masked_tokens > candidates:
        raise UsageError(
            f"masked_tokens (M) is {masked_tokens} but candidates (N) is {candidates}: M tokens are drawn "
            "from the N most salient, so M must not exceed N."
        )
    if sigma > 0 and not sites:
        raise UsageError(
            "noise_layers: sigma is above 0 but no layer takes the noise. Name at least one layer."
        )
