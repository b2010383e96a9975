"""unfooled — train, attack and certify classifiers that keep their answer under tampering.

>>> import unfooled as uf
>>> clf = uf.train("runs/rsmi", task="movie-reviews", defence="rsmi")
>>> clf.predict(["a gorgeous, witty film"])[0].label
'positive'
"""

from __future__ import annotations

import os
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Threads of PyTorch that wait should sleep, not spin: where another process wants the cores, spinning
# makes training several times slower (docs/performance.md). Read when PyTorch is loaded; yours wins.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

if TYPE_CHECKING:
    from unfooled.predict import Classifier, Prediction
    from unfooled.run.attack import attack
    from unfooled.run.benchmark import benchmark
    from unfooled.run.certify import certify
    from unfooled.run.folder import load, save, wrap
    from unfooled.run.report import report
    from unfooled.run.train import train

# Loaded at first use, so that `import unfooled` and `unfooled --help` do not wait for PyTorch.
_LAZY = {
    "Classifier": "unfooled.predict",
    "Prediction": "unfooled.predict",
    "attack": "unfooled.run.attack",
    "benchmark": "unfooled.run.benchmark",
    "load": "unfooled.run.folder",
    "report": "unfooled.run.report",
    "save": "unfooled.run.folder",
    "train": "unfooled.run.train",
    "wrap": "unfooled.run.folder",
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


class CertifyRoom(ModuleType):
    """``unfooled.certify`` is the verb and the room of that name: the package, made callable."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """See :func:`unfooled.run.certify.certify`."""
        from unfooled.run.certify import certify

        return certify(*args, **kwargs)


def __getattr__(name: str) -> Any:
    if name == "certify":
        from importlib import import_module

        return import_module("unfooled.certify")
    if name not in _LAZY:
        raise AttributeError(f"module 'unfooled' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
