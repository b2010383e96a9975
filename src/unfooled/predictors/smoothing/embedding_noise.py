"""Noise on the word embeddings: the smoothing behind the predictor ``vote`` with the noise at the embeddings.

Gaussian noise gives Euclidean radii (Cohen et al. 2019), Laplace noise radii for the sum of all changes (Li
et al. 2019). Noise at blocks further in comes after it and is post-processing: it costs accuracy, not
radius. The text is embedded once; each draw is one forward pass from the noisy embeddings.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unfooled.hub.batches import map_batches, tokens_per_batch
from unfooled.models import Batch, Encoded, KeyedNoise, Noise, Site, TextModel, mix
from unfooled.models.noise import NoiseKind
from unfooled.predictors.predictor import Seed
from unfooled.predictors.smoothing.base import seeds_of
from unfooled.predictors.smoothing.labels import equal_length_batches, labels_of, tally
from unfooled.predictors.smoothing.streams import (
    BLOCK,
    Piece,
    Request,
    Streams,
    fill,
    pieces,
    single,
    stream_key,
)


@dataclass(frozen=True)
class EmbeddingNoise:
    """N(0, σ²) or Laplace(σ) on every coordinate of every token's embedding."""

    sigma: float
    kind: NoiseKind = "gaussian"
    blocks: tuple[Site, ...] = ()
    """Blocks that take noise of the same size, after the embeddings."""

    def sampler(
        self, model: TextModel, encoded: Sequence[Encoded], *, seed: Seed, purpose: str
    ) -> NoisySampler:
        return NoisySampler(self, model, encoded, seeds_of(seed, len(encoded)), purpose)


class EmbeddingSampler(ABC):
    """Pools draws from embedded inputs: same length together, the noise written straight into the batch.

    ``looks`` is the number of noise arrays a draw needs; ``run`` turns a batch of them into labels.
    """

    looks = 1
    kind: NoiseKind = "gaussian"

    def __init__(
        self, model: TextModel, encoded: Sequence[Encoded], seeds: Sequence[int], purpose: str
    ) -> None:
        self.model = model
        self._encoded = encoded
        self._keys = [stream_key(seed, purpose, item.ids) for seed, item in zip(seeds, encoded, strict=True)]

    def counts(self, requests: Sequence[Request]) -> list[NDArray[np.int64]]:
        parts = pieces(requests)
        model = self.model
        lengths = [len(item) for item in self._encoded]
        batches = equal_length_batches(parts, lengths, tokens_per_batch(model.device))

        def of_batch(numbers: list[int]) -> NDArray[np.int64]:
            return self._labels([parts[number] for number in numbers])

        found = map_batches(of_batch, batches, model.device)
        ordered = [parts[number] for numbers in batches for number in numbers]
        labels = np.concatenate(found) if found else np.empty(0, dtype=np.int64)
        return tally(labels, ordered, requests=len(requests), classes=model.num_labels)

    @abstractmethod
    def run(self, batch: Batch, clean: Tensor, noise: Tensor, keys: Sequence[int]) -> Tensor:
        """Logits ``(rows, classes)`` from unit ``noise`` ``(rows, looks, tokens, width)``."""

    def _labels(self, parts: Sequence[Piece]) -> NDArray[np.int64]:
        model = self.model
        items = [self._encoded[piece.owner] for piece in parts]
        with torch.inference_mode(False):
            batch = model.batch(items)
            with torch.no_grad():
                clean = model.start(batch).float()
            copies = [row for row, piece in enumerate(parts) for _ in range(len(piece))]
            index = torch.tensor(copies, device=batch.ids.device)
            noise = np.empty((len(copies), self.looks, *clean.shape[1:]), dtype=np.float32)
            streams, keys = Streams(), list[int]()
            row = 0
            for piece in parts:
                key = self._keys[piece.owner]
                out = noise[row : row + len(piece)]
                fill(out, streams.at(key, piece.block), self.kind, skip=piece.start)
                keys += [mix(key >> 64, piece.block * BLOCK + d) for d in range(piece.start, piece.stop)]
                row += len(piece)
            logits = self.run(
                batch.rows(index), clean[index], torch.from_numpy(noise).to(batch.ids.device), keys
            )
        return labels_of(logits.detach())


class NoisySampler(EmbeddingSampler):
    """Draws labels under noise at the embeddings."""

    def __init__(
        self,
        settings: EmbeddingNoise,
        model: TextModel,
        encoded: Sequence[Encoded],
        seeds: Sequence[int],
        purpose: str,
    ) -> None:
        super().__init__(model, encoded, seeds, purpose)
        self._settings = settings
        self.kind = settings.kind

    def run(self, batch: Batch, clean: Tensor, noise: Tensor, keys: Sequence[int]) -> Tensor:
        settings = self._settings
        further = Noise(settings.sigma, settings.blocks, settings.kind)
        with torch.inference_mode():
            noisy = noise[:, 0].mul_(single(settings.sigma)).add_(clean)
            return self.model.forward(
                batch,
                start=noisy,
                sampler=KeyedNoise(further, keys) if settings.blocks else None,
                sites=settings.blocks,
            ).logits
