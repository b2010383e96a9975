"""The random numbers of smoothed votes: one counter-based stream (Philox) for every sixteen draws.

The key is a 128-bit digest of (seed, what the draws are for, the input); the number of the block of draws is
part of the counter. So a draw never depends on batches, on the order or on where the work was resumed, and no
two draws share a number: within one key the counters cannot meet, and two keys are two digests.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from unfooled.models.noise import NoiseKind
from unfooled.predictors.smoothing.model_check import ModelCheck

_WORD = (1 << 64) - 1
BLOCK = 16
"""Draws that share a stream; fixed, since the draws depend on it."""

DECIDE, SELECT, ESTIMATE = "decide", "select", "estimate"
"""What draws are for: predictions, choosing the class of a certificate, counting its votes. Never shared."""


DrawRequest = tuple[int, int, int]
"""(number of the input, first draw, how many draws)."""


class VoteCounter(Protocol):
    """Draws labels; the same draws always give the same counts, asked for at once or in parts."""

    def counts(self, requests: Sequence[DrawRequest]) -> list[NDArray[np.int64]]:
        """How often each class was given in the draws of each request; ``(classes,)`` each."""
        ...


class LabelSampler(VoteCounter, Protocol):
    """Draws labels of a base classifier under its random transformation, for many inputs at once."""

    check: ModelCheck | None
    """Checks the model while its answers are counted; certificates set it, predictions need none."""

    def again(self, purpose: str) -> LabelSampler:
        """The same inputs, drawn for another purpose: other draws, nothing read or tokenised again."""
        ...


@dataclass(frozen=True)
class DrawPiece:
    """The part of a request that lies in one block: draws ``start`` to ``stop - 1`` of the block."""

    request: int
    owner: int
    block: int
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start


def pieces(requests: Iterable[DrawRequest]) -> list[DrawPiece]:
    """The requests, cut at the ends of the blocks."""
    found = []
    for number, (owner, first, count) in enumerate(requests):
        draw, end = first, first + count
        while draw < end:
            block = draw // BLOCK
            stop = min(end, (block + 1) * BLOCK)
            found.append(DrawPiece(number, owner, block, draw - block * BLOCK, stop - block * BLOCK))
            draw = stop
    return found


def stream_key(seed: int, purpose: str, what: object) -> int:
    """The 128-bit key of one input's draws; ``what`` is its token ids or its texts."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(repr((int(seed), purpose, what)).encode("utf-8", "surrogatepass"))
    return int.from_bytes(digest.digest(), "little")


def stream_keys(seeds: Sequence[int], purpose: str, inputs: Sequence[object]) -> list[int]:
    """The key of each input's draws."""
    return [stream_key(seed, purpose, what) for seed, what in zip(seeds, inputs, strict=True)]


def generator(key: int, block: int) -> np.random.Generator:
    """The stream of one block. Reading a part of it gives the beginning of the whole."""
    return np.random.Generator(np.random.Philox(key=key, counter=[0, 0, block, 0]))


class Streams:
    """The same streams, one after another from one generator: a new one takes longer than small draws."""

    def __init__(self) -> None:
        self._bits = np.random.Philox(key=0)
        self._generator = np.random.Generator(self._bits)
        self._buffer = np.zeros(4, dtype=np.uint64)

    def at(self, key: int, block: int) -> np.random.Generator:
        """``generator(key, block)``, until the next call moves it on."""
        place: Any = {
            "counter": np.array([0, 0, block, 0], dtype=np.uint64),
            "key": np.array([key & _WORD, key >> 64], dtype=np.uint64),
        }
        self._bits.state = {
            "bit_generator": "Philox",
            "state": place,
            "buffer": self._buffer,
            "buffer_pos": 4,  # empty
            "has_uint32": 0,
            "uinteger": 0,
        }
        return self._generator


def fill(out: NDArray[np.float32], stream: np.random.Generator, kind: NoiseKind, *, skip: int = 0) -> None:
    """Unit noise of a block's draws after the first ``skip``, written into ``out`` ``(draws, …)``."""
    if skip:  # draws of this block that were made before
        fill(np.empty((skip, *out.shape[1:]), dtype=np.float32), stream, kind)
    if kind == "gaussian":
        stream.standard_normal(out=out, dtype=np.float32)
    else:
        # The difference of two exponentials: exact in the tails, where an inverse CDF is coarse.
        for one in out:
            pair: Any = stream.standard_exponential((2, *one.shape), dtype=np.float32)
            np.subtract(pair[0], pair[1], out=one)


def single(value: float) -> float:
    """The value as single precision holds it, rounded up: noise times it is no less than was stated."""
    found = np.float32(value)
    return float(found if float(found) >= value else np.nextafter(found, np.float32(np.inf)))
