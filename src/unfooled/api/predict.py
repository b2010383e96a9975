"""Answers for texts or images: a run folder or a classifier, its own predictor or another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from unfooled.api.arguments import checks_arguments
from unfooled.api.target import open_classifier
from unfooled.errors import UsageError
from unfooled.parsing import quoted
from unfooled.records.results.predictions import Predictions
from unfooled.settings import MOST_DRAWS, check_whole

if TYPE_CHECKING:
    from unfooled.predictors import Classifier
    from unfooled.predictors.override import PredictorChoice


@checks_arguments
def predict(
    classifier: Classifier | str | Path,
    inputs: Sequence[Any],
    pairs: Sequence[str] | None = None,
    *,
    seed: int | None = 0,
    predictor: PredictorChoice = None,
    certified: bool = False,
    error_rate: float = 0.001,
    max_votes: int = 1000,
    show: Literal["anchored"] | None = None,
    device: str = "auto",
) -> Predictions:
    """One :class:`Prediction` per input, in order; one that cannot be read is refused, not raised.

    ``inputs`` are texts; for a run on images, files or arrays (docs/images.md).

    ``pairs`` are the second texts of a classifier for pairs. The same ``seed`` and text give the same votes;
    ``seed=None`` draws fresh noise. ``predictor`` is a name, or settings to change, as in ``{"votes": 50}``.

    ``certified=True`` answers with the smoothed majority, which certificates are about, or abstains. An
    answer that is given differs from that majority with probability at most ``error_rate``. Every text has a
    secret seed and at most ``max_votes`` votes.

    ``show="anchored"`` adds the anchored words of each text (``Prediction.anchored_words``): those where the
    gradient of the model's own answer is neither small nor large (InfoBERT).

    >>> predict("runs/rsmi", ["a gorgeous, witty film"])[0].label
    'positive'
    """
    from unfooled.predictors.anchored import with_anchored_words
    from unfooled.predictors.override import with_predictor

    # Certificates are made in float32, so what keeps their promise answers in it.
    precision = "float32" if certified else "auto"
    opened, _ = open_classifier(classifier, device=device, precision=precision)
    chosen = with_predictor(opened, predictor)
    if certified:
        if seed not in (0, None):
            raise UsageError("certified answers draw a secret seed: leave out seed.")
        chosen, seed = certified_mode(chosen, error_rate=error_rate, max_votes=max_votes), None
    answers = chosen.predict(inputs, pairs, seed=seed)
    return answers if show is None else with_anchored_words(chosen, answers)


def certified_mode(classifier: Classifier, *, error_rate: float, max_votes: int) -> Classifier:
    """The classifier in the mode that keeps its certificates' promise; ask it with ``seed=None``."""
    from unfooled.certificates.smoothing import certified_transformation
    from unfooled.predictors.smoothing import Majority

    if not isinstance(error_rate, int | float) or not 0 < error_rate < 0.5:
        raise UsageError(f"error_rate must be above 0 and below 0.5, got {quoted(error_rate)}.")
    check_whole("max_votes", max_votes, at_most=MOST_DRAWS)
    found = certified_transformation(classifier)
    return classifier.with_predictor(Majority(found, error_rate, max_votes))
