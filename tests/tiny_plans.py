"""A whole benchmark of tiny models, quick enough to run in a test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tiny_runs import write_inputs


def write_plan_inputs(folder: Path) -> dict[str, Any]:
    """A plan of every kind of cell on the tiny reviews, written into ``folder``; the recipe is ``swap``."""
    inputs = write_inputs(folder)
    task = {name: inputs.pop(name) for name in ("data", "text_column", "label_column")}
    return {
        "name": "tiny",
        "seeds": [0],
        "train": {**inputs, "epochs": 1, "limit": 48, "limit_dev": 16, "limit_test": 24},
        "tasks": [{"name": "reviews", **task}],
        "defences": [
            "standard",
            {
                "name": "rsmi",
                "start_from": "standard",
                "settings": {"masked_tokens": 1, "first_votes": 3, "second_votes": 3},
                "attack_predictor": {"output": "mean-logit"},
            },
        ],
        "attacks": [{"recipe": "swap", "limit": 8, "tools": {"validity": False}}],
        "certificates": [
            {"threat": "words", "for": ["rsmi"], "limit": 3, "n0": 8, "n": 40, "antonyms": False}
        ],
        "repeat": {"repeats": 2, "limit": 6, "for": ["rsmi"]},
        "representations": {"limit": 4},
    }
