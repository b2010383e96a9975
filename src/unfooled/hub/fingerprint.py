"""Which weights: one SHA-256 over names, types, shapes and values, of a module in memory or a folder on disk.

Both give the same number for the same float32 weights, so that a report finds the run that an attack was on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    """The fingerprint of a run's weights, read from its one safetensors file; None where it cannot tell."""
    files = sorted(folder.glob("*.safetensors"))
    if len(files) != 1:
        return None
    try:
        with files[0].open("rb") as stream:
            header = json.loads(stream.read(int.from_bytes(stream.read(8), "little")))
            start = stream.tell()
            header.pop("__metadata__", None)
            if any(entry["dtype"] != "F32" for entry in header.values()):
                return None

            def values(entry: dict[str, Any]) -> bytes:
                first, last = entry["data_offsets"]
                stream.seek(start + first)
                return stream.read(last - first)

            return _digest(
                (name, "torch.float32", tuple(entry["shape"]), values(entry))
                for name, entry in sorted(header.items())
            )
    except (OSError, ValueError, KeyError):
        return None


def _digest(weights: Iterable[Weight]) -> str:
    digest = hashlib.sha256()
    for name, dtype, shape, values in weights:
        digest.update(f"{name} {dtype} {shape}".encode())
        digest.update(values)
    return digest.hexdigest()
