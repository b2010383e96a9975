"""The data of the present epoch, their order, and the seeded randomness they are made under."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset, Sampler
from transformers import set_seed
from transformers.trainer_pt_utils import get_length_grouped_indices

from unfooled.defences import TrainingData
from unfooled.models import EncodedInput


class EpochData(Dataset):
    """The training data of the present epoch, by number."""

    def __init__(self, data: TrainingData) -> None:
        self.now = data

    def __len__(self) -> int:
        return len(self.now)

    def __getitem__(self, index: int) -> tuple[EncodedInput, int]:
        return self.now.encoded[index], self.now.labels[index]


class EpochOrder(Sampler[int]):
    """A random order of the present epoch's data in which neighbours have similar lengths."""

    def __init__(self, data: EpochData, batch_size: int, generator: torch.Generator | None) -> None:
        self.data = data
        self.batch_size = batch_size
        self.generator = generator
        self.drawn_from: Tensor | None = None
        """Where the global generator stood before the present order was drawn."""
        self.draw_again_from: Tensor | None = None
        """The same for an order that is to be drawn again."""

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[int]:
        if self.draw_again_from is not None:
            torch.set_rng_state(self.draw_again_from)
            self.draw_again_from = None
        self.drawn_from = torch.get_rng_state()
        lengths = [len(item) for item in self.data.now.encoded]
        return iter(get_length_grouped_indices(lengths, self.batch_size, generator=self.generator))


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seeded global generators inside; afterwards they go on as if nothing had been drawn."""
    python, numpy = random.getstate(), np.random.get_state()
    with torch.random.fork_rng():
        set_seed(seed)
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)
