"""Ballots: the forward passes of a randomised predictor, pooled over inputs and batched.

A ballot is one noisy forward pass of one (masked) input. Ballots of many inputs share a model call;
ballots of the same masked input share everything before the first noise site. Each ballot's noise is
keyed by its input, its stream and its number, so pooling never changes a vote.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from unfooled.hub.batches import map_batches
from unfooled.models import EncodedInput, KeyedNoise, Model, Noise, as_text, as_texts


@dataclass(frozen=True)
class Ballot:
    """One forward pass to be made."""

    owner: int
    """Which input it belongs to."""
    masked: tuple[int, ...]
    """Positions replaced by the mask token."""
    key: int
    """Noise key."""


def cast(
    model: Model, encoded: Sequence[EncodedInput], ballots: Sequence[Ballot], noise: Noise
) -> list[list[float]]:
    """The logits of every ballot, in the order given."""
    most = model.batch_size
    groups: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    for number, ballot in enumerate(ballots):
        groups.setdefault((ballot.owner, tuple(sorted(ballot.masked))), []).append(number)
    rows = []
    for (owner, masked), numbers in groups.items():
        item = encoded[owner]
        if masked:
            item = hidden(model, item, masked)
        # A large group is split so that no single row outgrows a batch.
        size = max(1, most // max(1, len(item)))
        rows += [(item, numbers[start : start + size]) for start in range(0, len(numbers), size)]
    logits: list[list[float]] = [[] for _ in ballots]

    def logits_of(chunk: list[tuple[EncodedInput, list[int]]]) -> list[tuple[int, list[float]]]:
        with torch.inference_mode():
            batch = model.batch([item for item, _ in chunk])
            numbers = [number for _, members in chunk for number in members]
            copies = [row for row, (_, members) in enumerate(chunk) for _ in members]
            forward = model.forward(
                batch,
                sampler=KeyedNoise(noise, [ballots[number].key for number in numbers]),
                sites=noise.sites,
                copies=copies,
            )
            return list(zip(numbers, forward.logits.cpu().tolist(), strict=True))

    for found in map_batches(logits_of, _packed(rows, most), model.device, parallel=model.parallel):
        for number, values in found:
            logits[number] = values
    return logits


def hidden(model: Model, item: EncodedInput, positions: Sequence[int]) -> EncodedInput:
    """The input with the mask token at these positions."""
    mask_id = as_text(model).mask_token_id
    assert mask_id is not None
    (own,) = as_texts([item])
    return own.with_masked(positions, mask_id)


def _packed(
    rows: Sequence[tuple[EncodedInput, list[int]]], most: int
) -> list[list[tuple[EncodedInput, list[int]]]]:
    """Rows of similar length together, at most ``most`` padded tokens over all copies."""
    order = sorted(rows, key=lambda row: -len(row[0]))
    packed: list[list[tuple[EncodedInput, list[int]]]] = []
    budget = 0
    for item, numbers in order:
        width = len(packed[-1][0][0]) if packed else len(item)
        cost = width * len(numbers)
        if not packed or cost > budget:
            packed.append([])
            budget = max(most, len(item) * len(numbers))
            cost = len(item) * len(numbers)
        packed[-1].append((item, numbers))
        budget -= cost
    return packed


class Draws:
    """Casts ballots for many owners at once and appends their logits."""

    def __init__(self, model: Model, encoded: Sequence[EncodedInput], noise: Noise) -> None:
        self._model, self._encoded, self._noise = model, encoded, noise

    def extend(
        self,
        logits: Any,
        owners: Sequence[int],
        size: int,
        ballot: Callable[[int, int], Ballot],
    ) -> None:
        """``size`` further ballots for each owner, appended to ``logits[owner]``."""
        ballots: list[Ballot] = []
        for owner in owners:
            done = len(logits[owner])
            ballots += [ballot(owner, draw) for draw in range(done, done + size)]
        for one, row in zip(ballots, cast(self._model, self._encoded, ballots, self._noise), strict=True):
            logits[one.owner].append(row)
