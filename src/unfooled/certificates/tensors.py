"""Certificates for images and other tensors: any PyTorch module that gives logits.

>>> found = certify_tensors(model, images, sigma=0.25, n=10_000)
>>> found[0].label, found[0].radius
('7', 0.58...)

Noise is added to the values as they are given, so radii are in their units: scale to [0, 1] before, not
inside.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unfooled.certificates.from_votes import make_certificate
from unfooled.certificates.procedure import sample_votes
from unfooled.certificates.radii import BOUNDS, noise_radii
from unfooled.certificates.sampling import Sampling
from unfooled.certificates.smoother import Smoother
from unfooled.certificates.threats import TENSOR
from unfooled.errors import UsageError
from unfooled.predictors.smoothing.labels import labels_of, tally
from unfooled.predictors.smoothing.streams import (
    ESTIMATE,
    SELECT,
    NoiseKind,
    Piece,
    Request,
    Streams,
    fill,
    pieces,
    single,
    stream_key,
)
from unfooled.records.certificate import REFUSED, Certificate
from unfooled.settings import choose

VALUES_A_BATCH = 2_000_000
"""Numbers in a batch, so that large images come in small batches."""


def certify_tensors(
    model: Callable[[Tensor], Tensor],
    inputs: Tensor,
    *,
    sigma: float,
    threat: str = "l2",
    n0: int = 100,
    n: int = 10_000,
    alpha: float = 0.001,
    radius: float | None = None,
    adaptive: bool = False,
    bounds: Sequence[str] | None = None,
    truth: Sequence[int] | None = None,
    labels: Sequence[str] | None = None,
    batch_size: int = 256,
    seed: int | None = 0,
) -> list[Certificate]:
    """One certificate an input of ``inputs`` ``(inputs, …)``; NaN or infinite inputs are refused, one by one.

    The noise is Gaussian with standard deviation ``sigma``, for ``threat="l1"`` Laplace with that scale.
    Guarantee, for each input: the radius is wrong with probability at most ``alpha`` over the draws. A module
    is put in evaluation mode, since batch statistics would let inputs of a batch depend on each other. The
    guarantee is for inputs that were not chosen with the seed in hand; ``seed=None`` draws a secret one.
    """
    chosen = choose(TENSOR, threat, kind="threat")
    bounds = tuple(bounds or BOUNDS[threat][:1])
    for name in bounds:
        choose(dict.fromkeys(BOUNDS[threat]), name, kind=f"bound for {threat}")
    if inputs.dim() < 2 or not inputs.is_floating_point():
        raise UsageError("inputs must be floating-point with one row an input, such as (images, 1, 28, 28).")
    if not sigma > 0 or not np.isfinite(sigma):
        raise UsageError(f"sigma must be a finite number above 0, got {sigma}.")
    sampling = Sampling(n0=n0, n=n, alpha=alpha, adaptive=adaptive, radius=radius)
    if isinstance(model, torch.nn.Module):
        model.eval()
    finite = torch.isfinite(inputs).flatten(1).all(dim=1).tolist()
    good = [number for number, fine in enumerate(finite) if fine]
    found = [
        Certificate(number, REFUSED, threat, message="the input holds NaN or infinite values")
        for number in range(len(inputs))
    ]
    if good:
        with torch.inference_mode():
            classes = _classes(model(inputs[good[:1]]))
        names = [str(number) for number in range(classes)] if labels is None else list(labels)
        if len(names) != classes:
            raise UsageError(f"{len(names)} labels for a model with {classes} outputs: give one an output.")
        drawn = secrets.randbits(63) if seed is None else seed
        kind: NoiseKind = "laplace" if threat == "l1" else "gaussian"
        select, estimate = (
            TensorSampler(model, inputs, sigma, kind, classes, drawn, purpose, batch_size)
            for purpose in (SELECT, ESTIMATE)
        )
        radii = noise_radii(threat, bounds, sigmas=[sigma], dim=inputs[0].numel())
        smoother = Smoother(select, estimate, classes, len(inputs))
        for number, votes in sample_votes(smoother, sampling, lambda _: radii, inputs=good):
            found[number] = make_certificate(
                number, votes, radii, chosen, labels=names, alpha=alpha, asked_radius=radius, thing="input"
            )
        if truth is not None:
            found = [one.with_truth(names[int(own)]) for one, own in zip(found, truth, strict=True)]
    return [replace(one, not_covered=chosen.not_covered) for one in found]


def _classes(scores: Tensor) -> int:
    """The number of classes in the scores of one input."""
    shape = tuple(scores.shape)
    if len(shape) != 2 or shape[0] != 1 or shape[1] < 2:
        raise UsageError(
            f"The model gave scores of the shape {shape} for one input: it must be (1, classes) with "
            "two classes or more. A model of one output can give two: torch.stack([-score, score], dim=1)."
        )
    return shape[1]


class TensorSampler:
    """Draws labels of noisy tensors; the noise is drawn on the CPU, so every device sees the same."""

    def __init__(
        self,
        model: Callable[[Tensor], Tensor],
        inputs: Tensor,
        sigma: float,
        kind: NoiseKind,
        classes: int,
        seed: int,
        purpose: str,
        batch_size: int,
    ) -> None:
        self._model, self._inputs, self._sigma, self._kind = model, inputs, sigma, kind
        self._classes = classes
        last = inputs.dim() == 4 and not inputs.is_contiguous()
        last = last and inputs.is_contiguous(memory_format=torch.channels_last)
        self._layout = torch.channels_last if last else torch.contiguous_format
        # Added in single precision at least, and rounded to the inputs' own afterwards: half-precision noise
        # would be far from Gaussian.
        self._sums = torch.promote_types(inputs.dtype, torch.float32)
        self._rows = max(1, min(batch_size, VALUES_A_BATCH // max(1, inputs[0].numel())))
        self._seed, self._purpose = seed, purpose
        self._keys: dict[int, int] = {}

    def counts(self, requests: Sequence[Request]) -> list[NDArray[np.int64]]:
        parts = pieces(requests)
        batches: list[list[Piece]] = []
        rows = self._rows
        for piece in parts:
            if rows + len(piece) > self._rows:
                batches.append([])
                rows = 0
            batches[-1].append(piece)
            rows += len(piece)
        found = [self._labels(batch) for batch in batches]
        labels = np.concatenate(found) if found else np.empty(0, dtype=np.int64)
        return tally(labels, parts, requests=len(requests), classes=self._classes)

    def _labels(self, parts: Sequence[Piece]) -> NDArray[np.int64]:
        sizes = [len(piece) for piece in parts]
        noise = torch.empty((sum(sizes), *self._inputs.shape[1:]))  # aligned, as NumPy's memory need not be
        batch, streams = noise.numpy(), Streams()
        row = 0
        for piece, size in zip(parts, sizes, strict=True):
            stream = streams.at(self._key(piece.owner), piece.block)
            fill(batch[row : row + size], stream, self._kind, skip=piece.start)
            row += size
        device = self._inputs.device
        owners = torch.from_numpy(np.repeat([piece.owner for piece in parts], sizes)).to(device)
        noise = noise.to(device, self._sums, memory_format=self._layout)
        with torch.inference_mode():
            noisy = noise.mul_(single(self._sigma)).add_(self._inputs[owners]).to(self._inputs.dtype)
            scores = self._model(noisy)
            if tuple(scores.shape) != (len(noisy), self._classes):
                raise UsageError(
                    f"The model gave scores of the shape {tuple(scores.shape)} for {len(noisy)} inputs and "
                    f"{self._classes} classes: one row an input is needed."
                )
            return labels_of(scores)

    def _key(self, owner: int) -> int:
        if owner not in self._keys:
            values = self._inputs[owner].detach().cpu().double().numpy()
            self._keys[owner] = stream_key(self._seed, self._purpose, (values.shape, values.tobytes()))
        return self._keys[owner]
