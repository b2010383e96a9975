"""Checkpoints that a killed training may have left behind."""

from __future__ import annotations

import json
from pathlib import Path


def last_checkpoint(folder: Path, *, processes: int = 1) -> str | None:
    """The newest complete checkpoint; one that was being written when training was killed is passed over."""
    found = sorted(folder.glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]))
    complete = [path for path in found if _complete(path, processes)]
    return str(complete[-1]) if complete else None


def _complete(path: Path, processes: int) -> bool:
    """Process 0 writes the state last; every process writes where its random generators stand."""
    names = ["rng_state.pth"] if processes == 1 else [f"rng_state_{rank}.pth" for rank in range(processes)]
    try:
        json.loads((path / "trainer_state.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return all((path / name).is_file() for name in names)
