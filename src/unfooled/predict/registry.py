"""Predictors by name. A new one is a file beside this one and a line in ``PREDICTORS``."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from unfooled.errors import UsageError
from unfooled.predict.decision import Predictor
from unfooled.predict.plain import Plain
from unfooled.predict.sequential import Sequential
from unfooled.predict.two_step import TwoStep
from unfooled.predict.vote import Vote
from unfooled.settings import build

PREDICTORS: dict[str, type[Any]] = {
    "plain": Plain,
    "two-step": TwoStep,
    "vote": Vote,
    "sequential": Sequential,
}


def make_predictor(name: str, settings: Mapping[str, Any] | None = None) -> Predictor:
    """A predictor with its settings, each checked by name, type and range."""
    if name not in PREDICTORS:
        close = difflib.get_close_matches(name, PREDICTORS, n=1)
        hint = f" Did you mean '{close[0]}'?" if close else ""
        raise UsageError(f"There is no predictor '{name}'.{hint} Predictors: {', '.join(PREDICTORS)}.")
    return build(PREDICTORS[name], settings or {}, owner=f"predictor '{name}'")
