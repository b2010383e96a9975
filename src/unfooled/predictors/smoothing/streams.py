"""The random numbers of smoothed votes: counter-based streams (Philox), one for each input.

The key is a 128-bit digest of (seed, what the draws are for, the input). Draws of words have a stream for
every sixteen, whose number is part of the counter; a draw of noise begins at a counter of its own. So a draw
never depends on batches, on the order or on where the work was resumed, and no two draws share a number:
within one key the counters cannot meet, and two keys are two digests.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from unfooled.models import Encoded
from unfooled.predictors.smoothing.model_check import ModelCheck

_WORD = (1 << 64) - 1
BLOCK = 16
"""Draws of words that share a stream; fixed, since the draws depend on it."""

_NOISE = 1
"""The last word of the counter of noise, 0 in the streams of blocks: the two never meet."""
DRAWS_VERSION = 2
"""Raise it when a key gives other draws: what was stored before is then not taken over."""

DECIDE, SELECT, ESTIMATE, ATTACK = "decide", "select", "estimate", "attack"
"""What draws are for: predictions, choosing the class of a certificate, counting its votes, an attacker's
means. Never shared."""


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


@runtime_checkable
class TextVersions(Protocol):
    """Also shows the versions themselves: what an attacker who knows the transformation averages over."""

    def versions(self, requests: Sequence[DrawRequest]) -> list[Encoded]:
        """The versions of every request, one after the other; ``offsets`` are places in the text itself."""
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


def runs(parts: Iterable[DrawPiece]) -> list[DrawRequest]:
    """Pieces that follow each other put together again."""
    found: list[DrawRequest] = []
    for piece in parts:
        first = piece.block * BLOCK + piece.start
        if found and found[-1][0] == piece.owner and sum(found[-1][1:]) == first:
            found[-1] = (piece.owner, found[-1][1], found[-1][2] + len(piece))
        else:
            found.append((piece.owner, first, len(piece)))
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


class NoiseWords:
    """The random bits of noise: the words of draws 0, 1, 2, … of a key follow each other in one stream."""

    def __init__(self) -> None:
        self._bits = np.random.Philox(key=0)
        self._buffer = np.zeros(4, dtype=np.uint64)

    def move(self, key: int, counter: int) -> None:
        """Go to a place of the key's stream; a counter gives four words."""
        place: Any = {
            "counter": np.array([counter & _WORD, counter >> 64, 0, _NOISE], dtype=np.uint64),
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

    def read(self, draws: int, words: int) -> NDArray[np.uint64]:
        """The words of the next draws, ``(draws, words)``."""
        found: NDArray[np.uint64] = self._bits.random_raw((draws, words))
        return found


def single(value: float) -> float:
    """The value as single precision holds it, rounded up: noise times it is no less than was stated."""
    found = np.float32(value)
    return float(found if float(found) >= value else np.nextafter(found, np.float32(np.inf)))
