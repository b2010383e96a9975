"""Ballots: the forward passes of a randomised predictor, pooled over inputs and batched.

A ballot is one noisy forward pass of one (masked) input. Ballots of many inputs share a model call;
ballots of the same masked input share everything before the first noise site, which may be kept for later
rounds. Each ballot's noise is keyed by its input, its stream and its number, so pooling never changes a vote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from unfooled.hub.batches import map_batches, map_by_length
from unfooled.models import EncodedInput, KeyedNoise, Model, Noise, Shared, as_text, as_texts

MOST_KEPT = 2**28
"""Bytes of states kept between the rounds of a vote."""
TOKENS_AT_ONCE = 2**15
"""Tokens whose states are computed before the room is looked at again."""


@dataclass(frozen=True)
class Ballot:
    """One forward pass to be made."""

    owner: int
    """Which input it belongs to."""
    masked: tuple[int, ...]
    """Positions replaced by the mask token."""
    key: int
    """Noise key."""


@dataclass(frozen=True)
class _Row:
    """Ballots of one masked input."""

    item: EncodedInput
    numbers: list[int]
    states: Tensor | None = None
    """What they share, if it is kept."""


class KeptStates:
    """The states that all ballots of one masked input share, ``(tokens, width)``, kept between rounds.

    At most ``MOST_KEPT`` bytes; what has no room is computed again, which changes time but no answer.
    """

    def __init__(self) -> None:
        self._of: dict[int, dict[tuple[int, ...], Tensor]] = {}
        self._size = 0
        self.in_tuple = False
        self.nothing_shared = False

    @property
    def has_room(self) -> bool:
        return not self.nothing_shared and self._size < MOST_KEPT

    def find(self, owner: int, masked: tuple[int, ...]) -> Tensor | None:
        return self._of.get(owner, {}).get(masked)

    def add(self, owner: int, masked: tuple[int, ...], states: Tensor) -> None:
        if self._size + states.nbytes <= MOST_KEPT:
            self._of.setdefault(owner, {})[masked] = states.clone()  # a view would keep the whole batch
            self._size += states.nbytes

    def drop(self, owner: int) -> None:
        self._size -= sum(states.nbytes for states in self._of.pop(owner, {}).values())


def cast(
    model: Model,
    encoded: Sequence[EncodedInput],
    ballots: Sequence[Ballot],
    noise: Noise,
    kept: KeptStates | None = None,
) -> list[Any]:
    """What every ballot says (``Model.readings``: the logits), in the order given.

    ``kept`` is used, and filled for later ballots.
    """
    most = model.batch_size
    groups: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    for number, ballot in enumerate(ballots):
        groups.setdefault((ballot.owner, tuple(sorted(ballot.masked))), []).append(number)
    items = {
        (owner, masked): hidden(model, encoded[owner], masked) if masked else encoded[owner]
        for owner, masked in groups
    }
    if kept is not None:
        _keep(model, items, noise, kept)
    rows = []
    for (owner, masked), numbers in groups.items():
        item = items[owner, masked]
        states = None if kept is None else kept.find(owner, masked)
        # A large group is split so that no single row outgrows a batch.
        size = max(1, most // max(1, len(item)))
        rows += [_Row(item, numbers[start : start + size], states) for start in range(0, len(numbers), size)]
    readings: list[Any] = [None for _ in ballots]

    def readings_of(chunk: list[_Row]) -> list[tuple[int, Any]]:
        with torch.inference_mode():
            batch = model.batch([row.item for row in chunk])
            numbers = [number for row in chunk for number in row.numbers]
            copies = [index for index, row in enumerate(chunk) for _ in row.numbers]
            sampler = KeyedNoise(noise, [ballots[number].key for number in numbers])
            states = [row.states for row in chunk if row.states is not None]
            if states:
                assert kept is not None
                shared = Shared(pad_sequence(states, batch_first=True), kept.in_tuple)
                forward = model.after(batch, shared, sampler=sampler, sites=noise.sites, copies=copies)
            else:
                forward = model.forward(batch, sampler=sampler, sites=noise.sites, copies=copies)
            owners = [row.item for row in chunk for _ in row.numbers]
            return list(zip(numbers, model.readings(owners, forward.logits), strict=True))

    chunks = _packed([row for row in rows if row.states is not None], most)
    chunks += _packed([row for row in rows if row.states is None], most)
    for found in map_batches(readings_of, chunks, model.device, parallel=model.parallel):
        for number, reading in found:
            readings[number] = reading
    return readings


def _keep(
    model: Model,
    items: Mapping[tuple[int, tuple[int, ...]], EncodedInput],
    noise: Noise,
    kept: KeptStates,
) -> None:
    """Compute what the ballots of each masked input share, where it is not kept yet and there is room."""
    missing = [place for place in items if kept.find(*place) is None]
    while missing and kept.has_room:
        tokens, now = 0, 0
        while now < len(missing) and tokens < TOKENS_AT_ONCE:
            tokens += len(items[missing[now]])
            now += 1
        _keep_these(model, {place: items[place] for place in missing[:now]}, noise, kept)
        missing = missing[now:]


def _keep_these(
    model: Model,
    items: Mapping[tuple[int, tuple[int, ...]], EncodedInput],
    noise: Noise,
    kept: KeptStates,
) -> None:
    places, own = list(items), list(items.values())

    def states_of(chunk: list[int]) -> list[Tensor | None]:
        with torch.inference_mode():
            shared = model.shared(model.batch([own[index] for index in chunk]), noise.sites)
        if shared is None:
            kept.nothing_shared = True
            return [None] * len(chunk)
        kept.in_tuple = shared.in_tuple
        return [states[: len(own[index])] for index, states in zip(chunk, shared.states, strict=True)]

    lengths = [len(item) for item in own]
    found = map_by_length(states_of, lengths, model.batch_size, model.device, parallel=model.parallel)
    for place, states in zip(places, found, strict=True):
        if states is not None:
            kept.add(*place, states)


def hidden(model: Model, item: EncodedInput, positions: Sequence[int]) -> EncodedInput:
    """The input with the mask token at these positions."""
    mask_id = as_text(model).mask_token_id
    assert mask_id is not None
    (own,) = as_texts([item])
    return own.with_masked(positions, mask_id)


def _packed(rows: Sequence[_Row], most: int) -> list[list[_Row]]:
    """Rows of similar length together, at most ``most`` padded tokens over all copies."""
    order = sorted(rows, key=lambda row: -len(row.item))
    packed: list[list[_Row]] = []
    budget = 0
    for row in order:
        width = len(packed[-1][0].item) if packed else len(row.item)
        cost = width * len(row.numbers)
        if not packed or cost > budget:
            packed.append([])
            cost = len(row.item) * len(row.numbers)
            budget = max(most, cost)
        packed[-1].append(row)
        budget -= cost
    return packed


class Draws:
    """Casts ballots for many owners at once and appends what they say.

    With ``rounds``, what the ballots of one masked input share is computed once for all of them, until
    ``close``.
    """

    def __init__(
        self, model: Model, encoded: Sequence[EncodedInput], noise: Noise, *, rounds: bool = False
    ) -> None:
        self._model, self._encoded, self._noise = model, encoded, noise
        self._kept = KeptStates() if rounds else None

    def extend(
        self,
        readings: Any,
        owners: Sequence[int],
        size: int,
        ballot: Callable[[int, int], Ballot],
    ) -> None:
        """``size`` further ballots for each owner, appended to ``readings[owner]``."""
        ballots: list[Ballot] = []
        for owner in owners:
            done = len(readings[owner])
            ballots += [ballot(owner, draw) for draw in range(done, done + size)]
        rows = cast(self._model, self._encoded, ballots, self._noise, self._kept)
        for one, row in zip(ballots, rows, strict=True):
            readings[one.owner].append(row)

    def close(self, owners: Iterable[int]) -> None:
        """These owners have all their ballots: nothing is kept for them."""
        for owner in owners:
            if self._kept is not None:
                self._kept.drop(owner)
