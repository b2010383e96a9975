"""The safetensors files of a model folder: one, or several with an index; read by their headers.

A file that is missing, empty, cut off or damaged is refused by name before anything is computed with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unfooled.errors import UserError
from unfooled.files import read_json

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
COPY_AGAIN = "Copy the whole folder again from where it was made, or train again."


def weight_paths(folder: Path) -> list[Path]:
    """The files that hold the weights; a folder without them, or without one of several, is refused."""
    if (folder / SINGLE).is_file():
        return [folder / SINGLE]
    if not (folder / INDEX).is_file():
        raise UserError(f"{folder / SINGLE} is missing. {COPY_AGAIN} Only safetensors weights are opened.")
    index = read_json(folder / INDEX)
    placed = index.get("weight_map") if isinstance(index, dict) else None
    names = sorted({str(name) for name in placed.values()}) if isinstance(placed, dict) else []
    if not names or any(Path(name).name != name for name in names):
        raise UserError(f"{folder / INDEX} is damaged: it names no files beside it. {COPY_AGAIN}")
    for name in names:
        if not (folder / name).is_file():
            raise UserError(f"{folder / name} is missing, which {INDEX} names. {COPY_AGAIN}")
    return [folder / name for name in names]


@dataclass(frozen=True)
class StoredWeight:
    """A weight in a file; its values are read when they are asked for."""

    name: str
    dtype: str
    """As safetensors calls it, e.g. F32."""
    shape: tuple[int, ...]
    file: Any

    def values(self) -> Any:
        return self.file.get_tensor(self.name)


def stored_weights(folder: Path) -> dict[str, StoredWeight]:
    """The weights of a folder by their names; files that are not whole are refused."""
    found = {}
    for path in weight_paths(folder):
        file = _opened(path)
        for name in sorted(file.keys()):
            entry = file.get_slice(name)
            found[name] = StoredWeight(name, str(entry.get_dtype()), tuple(entry.get_shape()), file)
    return found


def _opened(path: Path) -> Any:
    from safetensors import SafetensorError, safe_open

    try:
        return safe_open(path, framework="np")
    except SafetensorError as error:
        size = path.stat().st_size
        reason = str(error).removeprefix("Error while deserializing header: ").strip(" .")
        what = "is empty" if not size else f"is cut off or damaged ({size:,} bytes; {reason})"
        raise UserError(f"{path} {what}. {COPY_AGAIN}") from error
    except OSError as error:
        raise UserError(f"Cannot read {path}: {error.strerror or error}.") from error
