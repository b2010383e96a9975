"""Perturbations δ of the start that climb a loss: what FreeLB, SMART, ALUM, TRADES and PGD share.

The start is the tensor that a model begins with (``Model.start``): the word embeddings of a text, the pixels
of an image. Each example has its own δ, its own norm and its own limit, whatever else is in the batch.
Padding is never perturbed; special tokens are, as in the authors' code. Pixels stay between 0 and 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from unfooled.models.model import Model
from unfooled.models.noise import FreshNoise, Noise

Direction = Literal["l2", "max", "sign"]
"""A gradient by its Euclidean norm, by its largest coordinate, or the signs of its coordinates."""


@dataclass(frozen=True)
class Ascent:
    """How δ climbs: steps of one size along the direction of its gradient, within a ball around the start."""

    step_size: float
    along: Direction = "l2"
    radius: float | None = None
    """Limit of the Euclidean norm of δ (``l2``) or of each coordinate (``max``, ``sign``); None: no limit."""

    def climbed(self, delta: Tensor, gradient: Tensor, batch: Any = None) -> Tensor:
        """δ after one step along its gradient."""
        return self.within(delta + self.step_size * self._direction(_unpadded(gradient, batch)))

    def within(self, delta: Tensor) -> Tensor:
        """δ projected to the ball."""
        if self.radius is None:
            return delta
        if self.along != "l2":
            return delta.clamp(-self.radius, self.radius)
        lengths = _per_row(delta, torch.linalg.vector_norm)
        return delta * (self.radius / lengths.clamp_min(_TINY)).clamp(max=1.0)

    def _direction(self, gradient: Tensor) -> Tensor:
        if self.along == "sign":
            return gradient.sign()
        # By the largest coordinate first: the square of a small one would vanish. No gradient, no direction.
        gradient = gradient / _per_row(gradient.abs(), torch.amax).clamp_min(_TINY)
        if self.along == "max":
            return gradient
        return gradient / _per_row(gradient, torch.linalg.vector_norm).clamp_min(_TINY)


_TINY = torch.finfo(torch.float32).tiny


def from_cube(start: Tensor, batch: Any, size: float) -> Tensor:
    """δ drawn from a cube, U(−1, 1)·size/√n with n the numbers of the row itself: no longer than ``size``."""
    if not size:
        return torch.zeros_like(start)
    mask = getattr(batch, "mask", None)
    numbers = torch.full((len(start),), float(start[0].numel()), device=start.device)
    if mask is not None:
        numbers = mask.sum(dim=1) * math.prod(start.shape[2:])
    sides = size / numbers.to(start.dtype).sqrt()
    drawn = torch.empty_like(start).uniform_(-1, 1) * sides.view(-1, *[1] * (start.dim() - 1))
    return _unpadded(drawn, batch)


def from_normal(start: Tensor, batch: Any, size: float) -> Tensor:
    """δ drawn from ``size``·N(0, 1)."""
    if not size:
        return torch.zeros_like(start)
    return FreshNoise(Noise(size))("embeddings", start, getattr(batch, "mask", None))


def uniform(start: Tensor, batch: Any, ascent: Ascent) -> Tensor:
    """δ drawn from the ball: uniform in that of ``max`` and ``sign``, in a cube inside that of ``l2``."""
    radius = ascent.radius or 0.0
    if ascent.along == "l2":
        return from_cube(start, batch, radius)
    return _unpadded(torch.empty_like(start).uniform_(-radius, radius), batch)


def bounded(start: Tensor, delta: Tensor, bounds: tuple[float, float] | None) -> Tensor:
    """δ cut so that start + δ has only values that the model reads; δ gets no longer."""
    return delta if bounds is None else (start + delta).clamp(*bounds) - start


def climb(
    model: Model, batch: Any, start: Tensor, delta: Tensor, ascent: Ascent, steps: int, raised: Raised
) -> Tensor:
    """δ after some steps that raise a function of the logits; no weight gradient is computed."""
    start = start.detach()
    delta = bounded(start, delta, model.bounds)
    with torch.enable_grad():
        for _ in range(steps):
            delta = delta.detach().requires_grad_()
            logits = model.forward(batch, start=start + delta).logits
            (gradient,) = torch.autograd.grad(raised(logits), delta)
            delta = bounded(start, ascent.climbed(delta.detach(), gradient, batch), model.bounds)
    return delta


Raised = Callable[[Tensor], Tensor]


class SameDraws:
    """Random numbers drawn inside are the same each time: one dropout mask for several passes.

    Those drawn outside go on as after the first time.
    """

    def __init__(self, device: torch.device) -> None:
        accelerator = [] if device.type == "cpu" else [torch.get_device_module(device)]
        self._generators: list[Any] = [torch.random, *accelerator]
        self._first: list[Tensor] | None = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        now = [one.get_rng_state() for one in self._generators]
        if self._first is None:
            self._first = now
            yield
            return
        self._set(self._first)
        try:
            yield
        finally:
            self._set(now)

    def _set(self, states: list[Tensor]) -> None:
        for generator, state in zip(self._generators, states, strict=True):
            generator.set_rng_state(state)


def _unpadded(delta: Tensor, batch: Any) -> Tensor:
    mask = getattr(batch, "mask", None)
    return delta if mask is None else delta * mask.unsqueeze(-1).to(delta.dtype)


def _per_row(values: Tensor, measure: Callable[..., Tensor]) -> Tensor:
    return measure(values, dim=tuple(range(1, values.dim())), keepdim=True)
