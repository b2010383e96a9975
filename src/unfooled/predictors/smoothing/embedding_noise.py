"""Noise on a model's start: the smoothing behind the predictor ``vote`` with the noise at the embeddings.

Gaussian noise gives Euclidean radii (Cohen et al. 2019), Laplace noise radii for the sum of all changes (Li
et al. 2019). Noise at blocks further in comes after it and is post-processing: it costs accuracy, not
radius. A text is embedded once; each draw is one forward pass from the noisy start, which for a tensor are
its values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unfooled.hub.batches import map_batches
from unfooled.models import EncodedInput, InputBatch, KeyedNoise, Model, Noise, Site, mix
from unfooled.models.noise import NoiseKind
from unfooled.predictors.predictor import Seed
from unfooled.predictors.smoothing.base import seeds_of
from unfooled.predictors.smoothing.model_check import ModelCheck
from unfooled.predictors.smoothing.streams import (
    BLOCK,
    DrawPiece,
    DrawRequest,
    Streams,
    fill,
    pieces,
    single,
    stream_keys,
)
from unfooled.predictors.smoothing.vote_labels import equal_length_batches, labels_of, tally


@dataclass(frozen=True)
class EmbeddingNoise:
    """N(0, σ²) or Laplace(σ) on every coordinate: of every token's embedding, or of the tensor."""

    sigma: float
    kind: NoiseKind = "gaussian"
    blocks: tuple[Site, ...] = ()
    """Blocks that take noise of the same size, after the embeddings."""

    def sampler(
        self, model: Model, encoded: Sequence[EncodedInput], *, seed: Seed, purpose: str
    ) -> NoisySampler:
        return NoisySampler(self, model, encoded, seeds_of(seed, len(encoded)), purpose)


class StartSampler(ABC):
    """Pools draws: inputs of the same length together, the noise written straight into the batch.

    ``looks`` is the number of noise arrays a draw needs; ``noisy`` makes of them what ``run`` classifies.
    """

    check: ModelCheck | None = None
    looks = 1
    kind: NoiseKind = "gaussian"

    def __init__(
        self, model: Model, encoded: Sequence[EncodedInput], seeds: Sequence[int], purpose: str
    ) -> None:
        self.model = model
        self._encoded = encoded
        self._seeds = seeds
        self._keys = stream_keys(seeds, purpose, [item.key() for item in encoded])

    def again(self, purpose: str) -> StartSampler:
        other = copy(self)
        other._keys = stream_keys(self._seeds, purpose, [item.key() for item in self._encoded])
        return other

    def counts(self, requests: Sequence[DrawRequest]) -> list[NDArray[np.int64]]:
        parts = pieces(requests)
        model = self.model
        lengths = [len(item) for item in self._encoded]
        batches = equal_length_batches(parts, lengths, model.batch_size)

        def of_batch(numbers: list[int]) -> NDArray[np.int64]:
            return self._labels([parts[number] for number in numbers])

        found = map_batches(of_batch, batches, model.device, parallel=model.parallel)
        ordered = [parts[number] for numbers in batches for number in numbers]
        labels = np.concatenate(found) if found else np.empty(0, dtype=np.int64)
        return tally(labels, ordered, requests=len(requests), classes=model.num_labels)

    @abstractmethod
    def noisy(self, batch: InputBatch, clean: Tensor, noise: Tensor) -> Tensor:
        """What is classified, of ``clean`` starts ``(rows, …)`` and unit ``noise`` ``(rows, looks, …)``."""

    def run(self, batch: InputBatch, start: Tensor, keys: Sequence[int]) -> Tensor:
        """Logits ``(rows, classes)`` of noisy starts; ``keys`` are those of further noise."""
        return self.model.forward(batch, start=start).logits

    def _labels(self, parts: Sequence[DrawPiece]) -> NDArray[np.int64]:
        model = self.model
        items = [self._encoded[piece.owner] for piece in parts]
        with torch.inference_mode(False):
            batch = model.batch(items)
            with torch.no_grad():
                clean = model.start(batch)
            # Sums in single precision at least: half-precision noise would be far from Gaussian.
            sums = torch.promote_types(clean.dtype, torch.float32)
            clean = clean.to(sums)
            copies = [row for row, piece in enumerate(parts) for _ in range(len(piece))]
            index = torch.tensor(copies, device=clean.device)
            drawn = torch.empty((len(copies), self.looks, *clean.shape[1:]))  # aligned: NumPy's need not be
            noise = drawn.numpy()
            streams, keys = Streams(), list[int]()
            row = 0
            for piece in parts:
                key = self._keys[piece.owner]
                out = noise[row : row + len(piece)]
                fill(out, streams.at(key, piece.block), self.kind, skip=piece.start)
                keys += [mix(key >> 64, piece.block * BLOCK + d) for d in range(piece.start, piece.stop)]
                row += len(piece)
            batch = batch.rows(index)
            start = self.noisy(batch, clean[index], drawn.to(clean.device, sums))
        with torch.inference_mode():
            logits = self.run(batch, start, keys)
            labels = labels_of(logits)
            if self.check is not None:
                self.check(logits, lambda rows: self._again(batch, start, keys, rows))
        return labels

    def _again(self, batch: InputBatch, start: Tensor, keys: Sequence[int], rows: Sequence[int]) -> Tensor:
        """Logits of the very same noisy starts, these rows together."""
        index = torch.tensor(list(rows), device=start.device)
        return self.run(batch.rows(index), start[index], [keys[row] for row in rows])


class NoisySampler(StartSampler):
    """Draws labels under noise at the start."""

    def __init__(
        self,
        settings: EmbeddingNoise,
        model: Model,
        encoded: Sequence[EncodedInput],
        seeds: Sequence[int],
        purpose: str,
    ) -> None:
        super().__init__(model, encoded, seeds, purpose)
        self._settings = settings
        self.kind = settings.kind

    def noisy(self, batch: InputBatch, clean: Tensor, noise: Tensor) -> Tensor:
        return noise[:, 0].mul_(single(self._settings.sigma)).add_(clean)

    def run(self, batch: InputBatch, start: Tensor, keys: Sequence[int]) -> Tensor:
        settings = self._settings
        further = Noise(settings.sigma, settings.blocks, settings.kind)
        return self.model.forward(
            batch,
            start=start,
            sampler=KeyedNoise(further, keys) if settings.blocks else None,
            sites=settings.blocks,
        ).logits
