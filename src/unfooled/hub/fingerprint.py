"""Which weights: one SHA-256 over names, types, shapes and values, of a module in memory or a folder on disk.

Both give the same number for the same float32 weights, so that a report finds the run that an attack was on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unfooled.errors import UserError
from unfooled.hub.safetensors_files import stored_weights

if TYPE_CHECKING:
    from torch import nn

Weight = tuple[str, str, tuple[int, ...], Any]
"""Name, type as torch calls it, shape, and the bytes."""


def weights_of_module(module: nn.Module) -> str:
    """The fingerprint of a module's weights and buffers."""
    import torch

    return _digest(
        (
            name,
            str(value.dtype),
            tuple(value.shape),
            value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy(),
        )
        for name, value in sorted(module.state_dict().items())
    )


def weights_of_folder(folder: Path) -> str | None:
    """The fingerprint of a run's weights, read from its safetensors files; None where it cannot tell."""
    try:
        stored = stored_weights(folder)
    except UserError:
        return None
    if any(weight.dtype != "F32" for weight in stored.values()):
        return None
    return _digest(
        (name, "torch.float32", weight.shape, weight.values()) for name, weight in sorted(stored.items())
    )


def _digest(weights: Iterable[Weight]) -> str:
    digest = hashlib.sha256()
    for name, dtype, shape, values in weights:
        digest.update(f"{name} {dtype} {shape}".encode())
        digest.update(values)
    return digest.hexdigest()
