"""Files that are whole or absent: written beside their place, then moved into it.

Names of files may hold bytes that are no UTF-8. They are written as ``\\udc80`` to ``\\udcff``, which JSON
reads back as the same name.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unfooled.errors import UserError

JsonObject = dict[str, Any]
"""An object of a JSON file of ours: names to whatever JSON holds. Who reads it knows its fields."""

JsonMapping = Mapping[str, Any]
"""The same for who only reads it."""


def write_text(path: Path, text: str) -> None:
    """Write ``text`` to ``path`` in one step: a reader sees the old file or the new one."""
    beside: str | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "wb", dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as file:
            beside = file.name
            file.write(writable(text).encode())
            file.flush()
            os.fsync(file.fileno())
        os.chmod(beside, 0o644)
        os.replace(beside, path)
    except OSError as error:
        raise UserError(
            f"Cannot write {path}: {error.strerror}. Choose another folder or make room."
        ) from error
    finally:
        if beside is not None:
            Path(beside).unlink(missing_ok=True)  # nothing is left there after a success


def writable(text: str | Path) -> str:
    """The text with what UTF-8 cannot hold spelt out."""
    return str(text).encode("utf-8", "backslashreplace").decode("utf-8")


def write_json(path: Path, value: object) -> None:
    write_text(path, json_text(value))


def json_text(value: object) -> str:
    """What :func:`write_json` writes."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"Cannot read {path}: {error.strerror}.") from error
    except ValueError as error:
        raise UserError(f"{path} is not valid JSON ({error}); the file is damaged. Train again.") from error
