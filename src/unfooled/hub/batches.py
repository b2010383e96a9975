"""Batches: inputs of similar length together, padded to the longest, and run side by side.

On a CPU, two threads with a batch each beat two threads that share one batch (docs/performance.md). The
batches are formed before they are handed out, so the number of threads changes no result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import torch

T = TypeVar("T")
R = TypeVar("R")


def tokens_per_batch(device: torch.device) -> int:
    """Padded tokens per forward pass: past this the device gains nothing, and a small GPU may run out."""
    return 1024 if device.type == "cpu" else 16384


def balanced(total: int, most: int, device: torch.device) -> int:
    """Tokens per batch, at most ``most``, so that ``total`` tokens keep every thread busy to the end."""
    import torch

    if device.type != "cpu":
        return most
    threads = torch.get_num_threads()
    batches = -(-total // most)
    return -(-total // (-(-batches // threads) * threads)) if total else most


def length_sorted_chunks(lengths: Sequence[int], max_tokens: int) -> Iterator[list[int]]:
    """Indices in chunks of similar length, longest first, each of at most ``max_tokens`` padded tokens.

    Longest first makes memory peak at once rather than at the end.
    """
    order = sorted(range(len(lengths)), key=lambda index: (-lengths[index], index))
    start = 0
    while start < len(order):
        size = max(1, max_tokens // max(1, lengths[order[start]]))
        yield order[start : start + size]
        start += size


def pad(rows: Sequence[Sequence[int]], fill: int, *, multiple_of: int = 1) -> torch.Tensor:
    """``(rows, tokens)``: every row filled up to the longest one, rounded up to ``multiple_of``."""
    import torch

    width = -(-max(map(len, rows)) // multiple_of) * multiple_of
    return torch.tensor([[*row, *[fill] * (width - len(row))] for row in rows], dtype=torch.long)


def padded_inputs(
    rows: Sequence[Sequence[int]], pad_id: int, device: torch.device
) -> dict[str, torch.Tensor]:
    """What a Hugging Face model is called with: ``input_ids`` and ``attention_mask``, ``(rows, tokens)``."""
    mask = pad([[1] * len(row) for row in rows], 0)
    return {"input_ids": pad(rows, pad_id).to(device), "attention_mask": mask.to(device)}


def map_batches(
    function: Callable[[T], R], batches: Sequence[T], device: torch.device, *, parallel: bool = True
) -> list[R]:
    """``function`` of every batch, in order; on a CPU as many at a time as PyTorch has threads.

    ``parallel=False``: one after another, for models that may not run in several threads.

    Gradient and inference modes belong to a thread: set them inside ``function``.
    """
    import torch

    threads = torch.get_num_threads()
    if not parallel or device.type != "cpu" or threads == 1 or len(batches) < 2:
        return [function(batch) for batch in batches]
    with _one_thread_per_batch(threads), ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, batches))


def map_by_length(
    function: Callable[[list[int]], Sequence[R]],
    lengths: Sequence[int],
    max_tokens: int,
    device: torch.device,
    *,
    parallel: bool = True,
) -> list[R]:
    """One result per input, in the order of the inputs.

    ``function`` gets the indices of inputs of similar length and returns one result for each of them.
    """
    chunks = list(length_sorted_chunks(lengths, max_tokens))
    found = map_batches(function, chunks, device, parallel=parallel)
    by_index = {
        index: result
        for chunk, results in zip(chunks, found, strict=True)
        for index, result in zip(chunk, results, strict=True)
    }
    return [by_index[index] for index in range(len(lengths))]


@contextmanager
def _one_thread_per_batch(threads: int) -> Iterator[None]:
    import torch

    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
