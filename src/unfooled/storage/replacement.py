"""A run that replaces another one: built beside it, moved into its place when it is whole.

``runs/x`` stays as it is while ``runs/.x.new`` is trained. Then the old folder becomes ``runs/x.previous``,
with all results of the old model, and the new one ``runs/x``. Whenever the process dies, the old model is
whole and the same command goes on: from the last checkpoint, or with the moves that are left.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from unfooled.errors import UserError


def beside(folder: Path) -> Path:
    """Where the run that will replace ``folder`` is built."""
    real = _real(folder)
    return real.with_name(f".{real.name}.new")


def previous(folder: Path) -> Path:
    """Where the run that was replaced is kept, until the next replacement."""
    real = _real(folder)
    return real.with_name(f"{real.name}.previous")


def swap(folder: Path) -> Path | None:
    """Move what was built beside into the place of ``folder``; gives the place of the old run, if any.

    An older ``.previous`` makes room. Moves that a killed process left undone are done.
    """
    place, built, old = _real(folder), beside(folder), previous(folder)
    try:
        if place.exists():
            if old.exists():
                shutil.rmtree(old)
            place.rename(old)
        built.rename(place)
    except OSError as error:
        raise UserError(
            f"The new run is whole in {built}, but cannot be moved to {folder}: {error.strerror}. Make sure "
            "that both can be renamed, and run the same command again."
        ) from error
    return old if old.exists() else None


def _real(folder: Path) -> Path:
    """A folder whose name can be changed: not a link to it, not ``.`` or ``..``."""
    return folder.resolve() if folder.is_symlink() or folder.name in ("", "..") else folder
