"""Tensors from a file: ``inputs`` (one row per input) and, if they are known, ``labels`` (class numbers).

NumPy's ``.npz`` and ``.npy`` and ``.safetensors`` are read; pickled objects are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unfooled.errors import UsageError, UserError

if TYPE_CHECKING:
    from torch import Tensor

INPUTS, LABELS = "inputs", "labels"


def read_tensors(path: str | Path) -> tuple[Tensor, list[int] | None]:
    """The inputs of a file, and their labels if it has them."""
    import torch

    place = Path(path)
    if not place.is_file():
        raise UserError(f"There is no file {place}.")
    arrays = _arrays(place)
    inputs = arrays.get(INPUTS)
    if inputs is None:
        others = [name for name in arrays if name != LABELS]
        if len(others) != 1:
            listed = ", ".join(others) or "none"
            raise UserError(f"{place} has no array '{INPUTS}'. Its arrays: {listed}. Rename one.")
        inputs = arrays[others[0]]
    labels = arrays.get(LABELS)
    if labels is None:
        return torch.as_tensor(inputs), None
    numbers = torch.as_tensor(labels)
    if numbers.dim() != 1 or numbers.is_floating_point():
        raise UserError(f"{place}: '{LABELS}' must be whole numbers, one per input.")
    return torch.as_tensor(inputs), [int(number) for number in numbers.tolist()]


def _arrays(place: Path) -> Mapping[str, Any]:
    kind = place.suffix.lower()
    try:
        if kind == ".safetensors":
            from safetensors.torch import load_file

            return load_file(place)
        if kind in (".npz", ".npy"):
            import numpy as np

            found = np.load(place, allow_pickle=False)
            return {INPUTS: found} if kind == ".npy" else {name: found[name] for name in found.files}
    except Exception as error:  # each library has errors of its own for a damaged file
        raise UserError(f"{place} cannot be read as {kind[1:]}: {error}.") from error
    raise UsageError(f"{place}: tensors are read from .npz, .npy and .safetensors files.")
