"""Noise at named sites of a model, keyed so that a prediction can be repeated.

A *site* is ``"embeddings"`` (the model's start: the embedding table's output before positions and LayerNorm,
or the values of a tensor) or the number of an encoder block (its output, after the last LayerNorm). Training
draws fresh noise with the global generator; prediction draws *keyed* noise, which depends on (seed, input,
draw, site) and never on batch size, order or padding. Padding is never noised.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import torch
from torch import Tensor

Site = int | Literal["embeddings"]
NoiseKind = Literal["gaussian", "laplace"]
_MASK64 = (1 << 64) - 1


@dataclass(frozen=True)
class Noise:
    """What is added, and where."""

    scale: float
    """Standard deviation σ (gaussian) or scale λ (laplace)."""
    sites: tuple[Site, ...] = ("embeddings",)
    kind: NoiseKind = "gaussian"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.scale) and self.scale >= 0):
            raise ValueError(f"noise scale must be a finite number >= 0, got {self.scale}")
        if self.kind not in ("gaussian", "laplace"):
            raise ValueError(f"noise kind must be 'gaussian' or 'laplace', got {self.kind!r}")


class NoiseSampler(Protocol):
    """Gives the noise for one site, shaped like the site's hidden states.

    ``hidden`` is ``(rows, tokens, width)`` with a ``mask`` ``(rows, tokens)`` of the tokens that take
    noise, or ``(rows, …)`` without a mask, where all do.
    """

    def __call__(self, site: Site, hidden: Tensor, mask: Tensor | None) -> Tensor: ...


@dataclass(frozen=True)
class FreshNoise:
    """Noise from the global generator, on the tensor's own device: for training."""

    noise: Noise

    def __call__(self, site: Site, hidden: Tensor, mask: Tensor | None) -> Tensor:
        if self.noise.kind == "gaussian":
            draw = torch.randn_like(hidden)
        else:
            draw = _laplace_from_uniform(torch.rand_like(hidden))
        draw = draw * self.noise.scale
        return draw if mask is None else draw * mask.unsqueeze(-1).to(hidden.dtype)


@dataclass(frozen=True)
class KeyedNoise:
    """Noise that is a function of one 64-bit key per row and the site, whatever the batch.

    Drawn on the CPU and moved, so that every device sees the same numbers.
    """

    noise: Noise
    keys: Sequence[int]

    def __call__(self, site: Site, hidden: Tensor, mask: Tensor | None) -> Tensor:
        rows = len(hidden)
        if rows != len(self.keys):
            raise ValueError(f"{len(self.keys)} noise keys for {rows} rows")
        lengths = [hidden.shape[1]] * rows if mask is None else _lengths(mask).tolist()
        draw = torch.zeros(hidden.shape)
        generator = torch.Generator()
        for row, (key, length) in enumerate(zip(self.keys, lengths, strict=True)):
            generator.manual_seed(mix(key, _site_number(site)))
            real = draw[row, : int(length)]
            if self.noise.kind == "gaussian":
                real.normal_(0.0, self.noise.scale, generator=generator)
            else:
                real.copy_(_laplace_from_uniform(real.uniform_(generator=generator)) * self.noise.scale)
        draw = draw.to(device=hidden.device, dtype=hidden.dtype)
        return draw if mask is None else draw * mask.unsqueeze(-1).to(hidden.dtype)


def input_key(seed: int, key: object) -> int:
    """The 64-bit key of one input: of the seed and ``EncodedInput.key()`` (token ids without padding, …)."""
    digest = hashlib.blake2b(digest_size=8)
    digest.update(int(seed).to_bytes(16, "little", signed=True))
    if isinstance(key, tuple | list) and all(type(part) is int for part in key):
        digest.update(np.array(key, dtype=np.int32).tobytes())
    else:
        digest.update(repr(key).encode())
    return int.from_bytes(digest.digest(), "little")


def mix(key: int, *numbers: int) -> int:
    """Derive an independent-looking 64-bit key from a key and counters (splitmix64 steps)."""
    for number in numbers:
        key = (key + (number + 1) * 0x9E3779B97F4A7C15) & _MASK64
        key = ((key ^ (key >> 30)) * 0xBF58476D1CE4E5B9) & _MASK64
        key = ((key ^ (key >> 27)) * 0x94D049BB133111EB) & _MASK64
        key ^= key >> 31
    return key


def _lengths(mask: Tensor) -> Tensor:
    """The number of tokens of each row up to the last one of the mask: what is before it may be left out."""
    return (mask * torch.arange(1, mask.shape[1] + 1, device=mask.device)).amax(dim=1)


def _site_number(site: Site) -> int:
    return 0 if site == "embeddings" else int(site) + 1


def _laplace_from_uniform(uniform: Tensor) -> Tensor:
    # Inverse CDF on (-1/2, 1/2). A uniform of exactly 0 stands for its whole cell: without the clamp at
    # half a cell the log would make it an outlier that no Laplace draw of this resolution shows.
    centred = uniform - 0.5
    tail = (1 - 2 * centred.abs()).clamp_min(torch.finfo(uniform.dtype).eps / 2)
    return -centred.sign() * torch.log(tail)
