"""A classifier under another predictor, or the same one with some settings changed.

Settings that both predictors have (σ, noise layers, M, …) carry over, so that
``--predictor sequential`` of an RSMI run keeps the noise it was trained with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from unfooled.errors import UsageError
from unfooled.parsing import quoted
from unfooled.predictors.classifier import Classifier
from unfooled.predictors.predictor import Predictor
from unfooled.predictors.registry import PREDICTORS, make_predictor

PredictorChoice = str | Mapping[str, object] | Predictor | None
"""Which predictor: its name; settings to change, with a ``name`` if it is another one (as ``describe()``
gives them); a predictor; or None for the classifier's own."""


def with_predictor(classifier: Classifier, choice: PredictorChoice) -> Classifier:
    """The classifier under this predictor; the classifier itself if nothing changes."""
    name, changes = named_settings(choice)
    if not (choice is None or isinstance(choice, str | Mapping)):
        return classifier.with_predictor(choice)
    if name is None and not changes:
        return classifier
    current = classifier.predictor.describe()
    name = name or str(current["name"])
    shared = {f.name for f in fields(PREDICTORS[name])} if name in PREDICTORS else set()
    carried = {key: value for key, value in current.items() if key in shared}
    return classifier.with_predictor(make_predictor(name, {**carried, **changes}))


def named_settings(choice: PredictorChoice) -> tuple[str | None, dict[str, object]]:
    """The name, if the choice has one, and the settings that it changes."""
    if choice is None or isinstance(choice, str):
        return choice, {}
    if not isinstance(choice, Mapping) and not hasattr(choice, "describe"):
        raise UsageError(f'A predictor is a name or settings such as {{"votes": 50}}, not {quoted(choice)}.')
    settings = dict(choice if isinstance(choice, Mapping) else choice.describe())
    name = settings.pop("name", None)
    if name is not None and not isinstance(name, str):
        raise UsageError(f"The name of a predictor is text, not {quoted(name)}.")
    return name, settings
