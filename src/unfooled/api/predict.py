"""Answers for texts: a run folder or a classifier, its own predictor or another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unfooled.api.target import open_classifier
from unfooled.records.predictions import Predictions

if TYPE_CHECKING:
    from unfooled.predictors import Classifier
    from unfooled.predictors.override import PredictorChoice


def predict(
    classifier: Classifier | str | Path,
    inputs: Sequence[str],
    pairs: Sequence[str] | None = None,
    *,
    seed: int | None = 0,
    predictor: PredictorChoice = None,
    device: str = "auto",
) -> Predictions:
    """One :class:`Prediction` per text, in order; a text that cannot be read is refused, not raised.

    ``pairs`` are the second texts of a classifier for pairs. The same ``seed`` and text give the same votes;
    ``seed=None`` draws fresh noise. ``predictor`` is a name, or settings to change, as in ``{"votes": 50}``.

    >>> predict("runs/rsmi", ["a gorgeous, witty film"])[0].label
    'positive'
    """
    from unfooled.predictors.override import with_predictor

    opened, _ = open_classifier(classifier, device=device)
    return with_predictor(opened, predictor).predict(inputs, pairs, seed=seed)
