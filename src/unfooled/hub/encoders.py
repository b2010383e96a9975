"""What the sentence encoder and the masked language model share: loading, devices, batches, a bounded cache.

Weights are safetensors, remote code is never run, and batches hold inputs of similar length so that
little is padded. torch and transformers are imported when something is loaded, not before.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from unfooled.errors import UserError

if TYPE_CHECKING:
    import torch

V = TypeVar("V")


class Recent(Generic[V]):
    """The ``size`` most recently used values by text; safe to share between threads."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._values: OrderedDict[str, V] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, text: str) -> V | None:
        with self._lock:
            value = self._values.get(text)
            if value is not None:
                self._values.move_to_end(text)
            return value

    def put(self, text: str, value: V) -> None:
        with self._lock:
            self._values[text] = value
            self._values.move_to_end(text)
            while len(self._values) > self.size:
                self._values.popitem(last=False)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep transformers' load reports and bars out of our output, and restore its settings."""
    from transformers.utils import logging

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def load_pretrained(auto: Any, location: str | Path, **options: Any) -> Any:
    """``auto.from_pretrained`` without remote code or pickles, quietly; a failure names the folder."""
    try:
        with quiet():
            return auto.from_pretrained(str(location), trust_remote_code=False, **options)
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        kind = "folder" if os.path.isdir(location) else "folder or reachable hub model"
        raise UserError(
            f"Cannot load '{location}': {reason} Name a {kind} that holds a Hugging Face model with "
            "safetensors weights and a fast tokenizer."
        ) from error


def device_named(name: str) -> torch.device:
    """The device called ``name``; ``auto`` is the GPU (or Apple's) if there is one, else the CPU."""
    import torch

    if name == "auto":
        mps = torch.backends.mps.is_available()
        name = "cuda" if torch.cuda.is_available() else "mps" if mps else "cpu"
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"The device '{name}' cannot be used here: {reason} Use 'auto' or 'cpu'.") from error
    return device


def position_limit(model: Any, tokenizer: Any) -> int:
    """The longest input, special tokens included; RoBERTa and its kin count from past the padding id."""
    longest = min(int(tokenizer.model_max_length), 1_000_000)
    positions = getattr(model.config, "max_position_embeddings", None)
    if not positions or positions < 0 or getattr(model.config, "position_biased_input", True) is False:
        return longest
    tables = [module for name, module in model.named_modules() if name.endswith("position_embeddings")]
    padding = [table.padding_idx for table in tables if getattr(table, "padding_idx", None) is not None]
    return min(longest, int(positions) - (padding[0] + 1 if padding else 0))


def similar_lengths(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Indices in batches of similar length, shortest first, each of at most ``tokens`` padded tokens."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[index] > tokens:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def padded(rows: Sequence[Sequence[int]], pad_id: int, device: torch.device) -> dict[str, torch.Tensor]:
    """``input_ids`` and ``attention_mask`` ``(rows, tokens)``, padded to the longest row."""
    import torch

    width = max(map(len, rows))
    ids = torch.tensor([[*row, *[pad_id] * (width - len(row))] for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
    return {"input_ids": ids.to(device), "attention_mask": mask.to(device)}
