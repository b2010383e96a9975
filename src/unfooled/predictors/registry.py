"""Predictors by name. A new one is a file beside this one and a line in ``PREDICTORS``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unfooled.predictors.plain import Plain
from unfooled.predictors.predictor import Predictor
from unfooled.predictors.sequential import Sequential
from unfooled.predictors.smoothing import (
    Ars,
    CertifiedMasked,
    RandomWordDelete,
    RandomWordMask,
    StaticMaskVote,
    SynonymVote,
)
from unfooled.predictors.two_step import TwoStep
from unfooled.predictors.vote import Vote
from unfooled.registry import Registry
from unfooled.settings import build

PREDICTORS: Registry[type[Any]] = Registry(
    "predictor",
    (
        Plain,
        TwoStep,
        Vote,
        Sequential,
        RandomWordMask,
        RandomWordDelete,
        SynonymVote,
        CertifiedMasked,
        StaticMaskVote,
        Ars,
    ),
)


def make_predictor(name: str, settings: Mapping[str, object] | None = None) -> Predictor:
    """A predictor with its settings, each checked by name, type and range."""
    predictor: Predictor = build(PREDICTORS.choose(name), settings or {}, owner=f"predictor '{name}'")
    return predictor
