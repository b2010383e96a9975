"""unfooled — train, attack and certify classifiers that keep their answer under tampering.

>>> import unfooled as uf
>>> clf = uf.train("runs/rsmi", task="movie-reviews", defence="rsmi")
>>> clf.predict(["a gorgeous, witty film"])[0].label
'positive'
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Threads of PyTorch that wait should sleep, not spin: where another process wants the cores, spinning
# makes training several times slower (docs/performance.md). Read when PyTorch is loaded; yours wins.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

if TYPE_CHECKING:
    from unfooled.api.attack import attack
    from unfooled.api.certify import certify
    from unfooled.api.load import load, save, wrap
    from unfooled.api.report import report
    from unfooled.api.train import train
    from unfooled.benchmarks.benchmark import benchmark
    from unfooled.predictors import Classifier
    from unfooled.records.prediction import Prediction

# Loaded at first use, so that `import unfooled` and `unfooled --help` do not wait for PyTorch.
_LAZY = {
    "Classifier": "unfooled.predictors",
    "Prediction": "unfooled.records.prediction",
    "attack": "unfooled.api.attack",
    "benchmark": "unfooled.benchmarks.benchmark",
    "certify": "unfooled.api.certify",
    "load": "unfooled.api.load",
    "report": "unfooled.api.report",
    "save": "unfooled.api.load",
    "train": "unfooled.api.train",
    "wrap": "unfooled.api.load",
}

__all__ = [
    "Classifier",
    "Prediction",
    "__version__",
    "attack",
    "benchmark",
    "certify",
    "load",
    "report",
    "save",
    "train",
    "wrap",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'unfooled' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
