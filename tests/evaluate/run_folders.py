"""Run folders written by hand: what training leaves behind, without the training."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

MakeRun = Callable[..., Path]

METRICS: dict[str, Any] = {
    "train": {"seconds": 161.4, "loss": 0.45, "examples": 6718, "steps": 210, "resumed": False},
    "dev": {"examples": 746, "accuracy": 0.8284},
    "test": {
        "examples": 1000,
        "accuracy": 0.837,
        "accuracy_interval": [0.8128, 0.8586],
        "macro_f1": 0.8369,
        "confusion": [[431, 69], [94, 406]],
        "labels": ["negative", "positive"],
        "abstained": 0,
        "forwards_per_example": 1.0,
        "seconds": 4.0,
    },
    "versions": {"unfooled": "0.1.0", "python": "3.11.7", "torch": "2.13.0+cpu"},
    "seed": 0,
}
MARKER: dict[str, Any] = {
    "format": 1,
    "unfooled": "0.1.0",
    "defence": {"name": "standard", "settings": {}},
    "predictor": {"name": "plain"},
    "task": {"name": "movie-reviews", "kind": "single"},
    "labels": ["negative", "positive"],
    "max_length": 64,
}
HISTORY: list[dict[str, Any]] = [
    {"loss": 0.69, "epoch": 0.25, "step": 25},
    {"loss": 0.48, "epoch": 0.75, "step": 75},
    {"eval_accuracy": 0.8284, "epoch": 1.0, "step": 100},
    {"train_loss": 0.45, "epoch": 1.0, "step": 100},
]
CONFIG = "task: movie-reviews\ndata: null\ndefence: standard\nepochs: 1.0\nseed: 0\n"


def prediction(text: str, label: str | None, **more: Any) -> dict[str, Any]:
    """A line of predictions.jsonl."""
    other = {"positive": "negative", "negative": "positive"}
    scores = {} if label is None else {label: 0.9, other[label]: 0.1}
    return {"text": text, "label": label, "leader": label, "scores": scores, "forwards": 1, **more}


def write_run(
    folder: Path,
    *,
    test: dict[str, Any] | None = None,
    train: dict[str, Any] | None = None,
    marker: dict[str, Any] | None = None,
    history: Any = HISTORY,
    predictions: list[dict[str, Any]] | None = None,
) -> Path:
    folder.mkdir(parents=True)
    metrics = METRICS | {
        "test": METRICS["test"] | (test or {}),
        "train": METRICS["train"] | (train or {}),
    }
    (folder / "metrics.json").write_text(json.dumps(metrics), encoding="utf-8")
    (folder / "unfooled.json").write_text(json.dumps(MARKER | (marker or {})), encoding="utf-8")
    (folder / "config.yaml").write_text(CONFIG, encoding="utf-8")
    if history is not None:
        (folder / "history.json").write_text(json.dumps(history), encoding="utf-8")
    if predictions is not None:
        lines = "".join(json.dumps(row) + "\n" for row in predictions)
        (folder / "predictions.jsonl").write_text(lines, encoding="utf-8")
    return folder
