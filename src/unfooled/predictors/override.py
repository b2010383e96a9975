"""A classifier under another predictor, or the same one with some settings changed.

Settings that both predictors have (σ, noise layers, M, …) carry over, so that
``--predictor sequential`` of an RSMI run keeps the noise it was trained with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from unfooled.predictors.classifier import Classifier
from unfooled.predictors.registry import PREDICTORS, make_predictor


def with_settings(classifier: Classifier, predictor: str | None, changes: Mapping[str, Any]) -> Classifier:
    """The classifier itself if nothing changes."""
    if predictor is None and not changes:
        return classifier
    current = classifier.predictor.describe()
    name = predictor or current["name"]
    shared = {f.name for f in fields(PREDICTORS[name])} if name in PREDICTORS else set()
    carried = {key: value for key, value in current.items() if key in shared}
    return classifier.with_predictor(make_predictor(name, {**carried, **changes}))
