"""The data of the present epoch, their order, and the seeded randomness they are made under.

Examples travel through the data loader as numbers, with the copies that the session's copy makers made of
them: in worker processes, so that no step waits for them, or in this one. How many workers there are, and in
which batches the examples come, changes no copy.
"""

from __future__ import annotations

import ctypes
import os
import random
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler
from transformers import set_seed
from transformers.trainer_pt_utils import get_length_grouped_indices

from unfooled.defences import CopyMaker, TrainingData, TrainingExample
from unfooled.models import Model


@dataclass(frozen=True)
class Drawn:
    """The examples of one batch by number, and by defence what was made of each."""

    numbers: list[int]
    copies: Mapping[str, Sequence[Any]]


class EpochData(Dataset):
    """The training data of the present epoch, by number."""

    def __init__(self, data: TrainingData) -> None:
        self.now = data
        self.makers: Mapping[str, CopyMaker] = {}
        self.lengths: Sequence[int] | None = None
        """By which batches are put together, where they are not those of the data."""

    def __len__(self) -> int:
        return len(self.now)

    def __getitems__(self, numbers: list[int]) -> Drawn:
        if not self.makers:
            return Drawn(numbers, {})
        examples = [
            TrainingExample(number, self.now.encoded[number], self.now.labels[number]) for number in numbers
        ]
        return Drawn(numbers, {name: maker(examples) for name, maker in self.makers.items()})

    def batch(self, model: Model, drawn: Drawn) -> Any:
        """The examples with their labels, on the model's device."""
        encoded, labels = self.now.encoded, self.now.labels
        return model.batch([encoded[number] for number in drawn.numbers], [labels[n] for n in drawn.numbers])


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
        own = self.data.lengths
        lengths = self.data.now.lengths() if own is None else list(own)
        return iter(get_length_grouped_indices(lengths, self.batch_size, generator=self.generator))


def loader(data: EpochData, order: EpochOrder, workers: int) -> DataLoader[Drawn]:
    """Batches in this order, made by so many worker processes; with none, in this process.

    Workers live for one epoch. Where a process can be forked they are there at once, with the data and the
    lexicon that this process holds.
    """
    options: dict[str, Any] = {"sampler": order, "collate_fn": _as_inputs}
    if workers:
        options |= {"num_workers": workers, "worker_init_fn": _begin_worker}
        if sys.platform == "linux":
            options["multiprocessing_context"] = "fork"
    return DataLoader(data, order.batch_size, **options)


def _as_inputs(drawn: Drawn) -> dict[str, Drawn]:
    return {"drawn": drawn}


def _begin_worker(number: int) -> None:
    """Ctrl-C is for the training process, and a worker ends with it, however that ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # threads of the tokenizers do not survive a fork
    if sys.platform == "linux":
        # The loader's own watch takes seconds, and a forked worker holds the lock of the run folder.
        ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)


_END_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of <linux/prctl.h>."""


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
