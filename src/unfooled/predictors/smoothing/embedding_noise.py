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
    DrawPiece,
    DrawRequest,
    NoiseWords,
    pieces,
    runs,
    single,
    stream_keys,
)
from unfooled.predictors.smoothing.unit_noise import fill
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
    further = False
    """Whether ``run`` adds noise of its own."""

    def __init__(
        self, model: Model, encoded: Sequence[EncodedInput], seeds: Sequence[int], purpose: str
    ) -> None:
        self.model = model
        self._encoded = encoded
        self._seeds = seeds
        self._kept: tuple[tuple[int, ...], tuple[InputBatch, Tensor, list[int]]] | None = None
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
        """Logits ``(rows, classes)`` of noisy starts; ``keys`` are those of further noise, if there is."""
        return self.model.forward(batch, start=start).logits

    def _labels(self, parts: Sequence[DrawPiece]) -> NDArray[np.int64]:
        draws = runs(parts)
        with torch.inference_mode(False):
            batch, clean, places = self._clean(tuple(owner for owner, _, _ in draws))
            index = torch.from_numpy(np.repeat(places, [count for _, _, count in draws])).to(clean.device)
            batch = batch.rows(index)
            rows = clean.expand(len(index), *clean.shape[1:]) if len(clean) == 1 else clean[index]
            start = self.noisy(batch, rows, self._drawn(draws, clean.shape[1:]).to(clean))
        keys = self._further_keys(draws) if self.further else []
        with torch.inference_mode():
            logits = self.run(batch, start, keys)
            labels = labels_of(logits)
            if self.check is not None:
                self.check(logits, lambda rows: self._again(batch, start, keys, rows))
        return labels

    def _clean(self, owners: tuple[int, ...]) -> tuple[InputBatch, Tensor, list[int]]:
        """A batch of these inputs, each once; their starts; and the place of each owner among them.

        The next batch is often of the same inputs, so the latest is kept.
        """
        kept = self._kept
        if kept is None or kept[0] != owners:
            distinct = list(dict.fromkeys(owners))
            batch = self.model.batch([self._encoded[owner] for owner in distinct])
            with torch.no_grad():
                clean = self.model.start(batch)
            # Sums in single precision at least: half-precision noise would be far from Gaussian.
            clean = clean.to(torch.promote_types(clean.dtype, torch.float32))
            kept = self._kept = owners, (batch, clean, [distinct.index(owner) for owner in owners])
        return kept[1]

    def _drawn(self, draws: Sequence[DrawRequest], shape: torch.Size) -> Tensor:
        """Unit noise of these draws, ``(rows, looks, *shape)``."""
        drawn = torch.empty((sum(count for _, _, count in draws), self.looks, *shape))
        out = drawn.numpy().reshape(len(drawn), -1)  # PyTorch's memory is aligned, NumPy's need not be
        stream, row = NoiseWords(), 0
        for owner, first, count in draws:
            fill(out[row : row + count], stream, self._keys[owner], first, self.kind)
            row += count
        return drawn

    def _further_keys(self, draws: Sequence[DrawRequest]) -> list[int]:
        """Keys of noise further in, one per draw."""
        return [
            mix(self._keys[owner] >> 64, draw)
            for owner, first, count in draws
            for draw in range(first, first + count)
        ]

    def _again(self, batch: InputBatch, start: Tensor, keys: Sequence[int], rows: Sequence[int]) -> Tensor:
        """Logits of the very same noisy starts, these rows together."""
        index = torch.tensor(list(rows), device=start.device)
        return self.run(batch.rows(index), start[index], [keys[row] for row in rows] if keys else [])


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
        self.further = bool(settings.blocks)

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
