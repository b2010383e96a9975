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
    from unfooled.api.evaluate import evaluate
    from unfooled.api.load import load, save, wrap
    from unfooled.api.predict import predict
    from unfooled.api.repeat import repeat
    from unfooled.api.report import report
    from unfooled.api.represent import represent
    from unfooled.api.smoothed import Smoothed, smoothed
    from unfooled.api.train import train
    from unfooled.api.verify import verify
    from unfooled.attacks.limits import Limits
    from unfooled.attacks.tools import Tools
    from unfooled.attacks.victims import as_victim
    from unfooled.benchmarks.run import benchmark
    from unfooled.benchmarks.sweep import sweep
    from unfooled.certificates.sampling import Reading, Sampling
    from unfooled.data.inputs import Inputs
    from unfooled.predictors import Classifier
    from unfooled.records.prediction import Prediction
    from unfooled.records.results.attack_report import AttackReport
    from unfooled.records.results.certificate_report import CertificateReport
    from unfooled.records.results.documents import (
        BenchmarkReport,
        RepresentReport,
        SweepReport,
        WrittenReport,
    )
    from unfooled.records.results.evaluation_report import EvaluationReport
    from unfooled.records.results.predictions import Predictions
    from unfooled.records.results.repeat_report import RepeatReport
    from unfooled.records.results.verify_report import VerifyReport
    from unfooled.storage.result_sets import SetName

# Loaded at first use, so that `import unfooled` and `unfooled --help` do not wait for PyTorch.
_LAZY = {
    "AttackReport": "unfooled.records.results.attack_report",
    "BenchmarkReport": "unfooled.records.results.documents",
    "CertificateReport": "unfooled.records.results.certificate_report",
    "Classifier": "unfooled.predictors",
    "EvaluationReport": "unfooled.records.results.evaluation_report",
    "Inputs": "unfooled.data.inputs",
    "Limits": "unfooled.attacks.limits",
    "Prediction": "unfooled.records.prediction",
    "Predictions": "unfooled.records.results.predictions",
    "Reading": "unfooled.certificates.sampling",
    "RepeatReport": "unfooled.records.results.repeat_report",
    "RepresentReport": "unfooled.records.results.documents",
    "Sampling": "unfooled.certificates.sampling",
    "Smoothed": "unfooled.api.smoothed",
    "SetName": "unfooled.storage.result_sets",
    "SweepReport": "unfooled.records.results.documents",
    "Tools": "unfooled.attacks.tools",
    "VerifyReport": "unfooled.records.results.verify_report",
    "WrittenReport": "unfooled.records.results.documents",
    "as_victim": "unfooled.attacks.victims",
    "attack": "unfooled.api.attack",
    "benchmark": "unfooled.benchmarks.run",
    "certify": "unfooled.api.certify",
    "evaluate": "unfooled.api.evaluate",
    "load": "unfooled.api.load",
    "predict": "unfooled.api.predict",
    "repeat": "unfooled.api.repeat",
    "report": "unfooled.api.report",
    "represent": "unfooled.api.represent",
    "save": "unfooled.api.load",
    "smoothed": "unfooled.api.smoothed",
    "sweep": "unfooled.benchmarks.sweep",
    "train": "unfooled.api.train",
    "verify": "unfooled.api.verify",
    "wrap": "unfooled.api.load",
}

__all__ = [
    "AttackReport",
    "BenchmarkReport",
    "CertificateReport",
    "Classifier",
    "EvaluationReport",
    "Inputs",
    "Limits",
    "Prediction",
    "Predictions",
    "Reading",
    "RepeatReport",
    "RepresentReport",
    "Sampling",
    "SetName",
    "Smoothed",
    "SweepReport",
    "Tools",
    "VerifyReport",
    "WrittenReport",
    "__version__",
    "as_victim",
    "attack",
    "benchmark",
    "certify",
    "evaluate",
    "load",
    "predict",
    "repeat",
    "report",
    "represent",
    "save",
    "smoothed",
    "sweep",
    "train",
    "verify",
    "wrap",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'unfooled' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
