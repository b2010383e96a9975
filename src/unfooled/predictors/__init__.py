"""How a decision is made from forward passes."""

from unfooled.predictors.classifier import Classifier
from unfooled.predictors.plain import Plain
from unfooled.predictors.predictor import Predictor
from unfooled.predictors.registry import PREDICTORS, make_predictor
from unfooled.predictors.sequential import Sequential
from unfooled.predictors.smoothing import Ars, CertifiedMasked, RandomWordMask, StaticMaskVote, SynonymVote
from unfooled.predictors.two_step import TwoStep
from unfooled.predictors.vote import Vote

__all__ = [
    "PREDICTORS",
    "Ars",
    "CertifiedMasked",
    "Classifier",
    "Plain",
    "Predictor",
    "RandomWordMask",
    "Sequential",
    "StaticMaskVote",
    "SynonymVote",
    "TwoStep",
    "Vote",
    "make_predictor",
]
