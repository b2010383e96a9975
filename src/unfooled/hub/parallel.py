"""Batches side by side: on a CPU, two threads with a batch each beat two threads sharing one batch.

The batches are formed before they are handed out, so the number of threads changes no result. Measured in
docs/performance.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import torch

T = TypeVar("T")
R = TypeVar("R")


def tokens_a_batch(device: torch.device) -> int:
    """Padded tokens a forward pass: past this the device gains nothing, and a small GPU may run out."""
    return 1024 if device.type == "cpu" else 16384


def balanced(total: int, device: torch.device) -> int:
    """Tokens a batch so that ``total`` tokens keep every thread busy to the end."""
    most = tokens_a_batch(device)
    if device.type != "cpu":
        return most
    threads = torch.get_num_threads()
    batches = -(-total // most)
    return -(-total // (-(-batches // threads) * threads)) if total else most


def map_batches(function: Callable[[T], R], batches: Sequence[T], device: torch.device) -> list[R]:
    """``function`` of every batch, in order; on a CPU as many at a time as PyTorch has threads.

    Gradient and inference modes belong to a thread: set them inside ``function``.
    """
    threads = torch.get_num_threads()
    if device.type != "cpu" or threads == 1 or len(batches) < 2:
        return [function(batch) for batch in batches]
    with _one_thread_a_batch(threads), ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, batches))


@contextmanager
def _one_thread_a_batch(threads: int) -> Iterator[None]:
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
