"""A randomised classifier in a folder, and the rows that an attack on it leaves, whoever does the work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from journals import timeless
from tiny_attacks import Swap, write_examples
from tiny_models import tiny_classifier
from unfooled.api.attack import attack
from unfooled.api.jobs.attack_job import TABLE
from unfooled.api.load import save
from unfooled.attacks import Limits
from unfooled.attacks.tools import Tools
from unfooled.data.inputs import Inputs
from unfooled.predictors import Classifier, Vote

ROWS = 24


def write_noisy(parent: Path) -> Path:
    """The classifier's folder; the examples that are attacked stand beside it."""
    folder = parent / "run"
    noisy = Vote(sigma=0.5, votes=3, noise_layers=("embeddings",))
    save(Classifier(tiny_classifier("bert", labels=2, seed=3), noisy, labels=["down", "up"]), folder)
    write_examples(parent / "examples.csv", ROWS)
    return folder


def rows(folder: Path) -> dict[tuple[str, int], Any]:
    return timeless(folder / "journal.sqlite", TABLE)


def attacked(victim: Any, folder: Path, out: Path, **more: Any) -> dict[tuple[str, int], Any]:
    """The rows of an attack on the examples beside ``folder``."""
    data = Inputs(data=str(folder.parent / "examples.csv"))
    how = {
        "recipe": Swap(),
        "tools": Tools(validity=False),
        "limits": Limits(fresh_predictions=3),
        "limit": None,
    }
    attack(victim, data, device="cpu", out=out, **how | more)
    return rows(out)
