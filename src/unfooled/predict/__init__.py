"""How a decision is made from forward passes."""

from unfooled.predict.classifier import Classifier, Prediction
from unfooled.predict.decision import Decision, Predictor
from unfooled.predict.plain import Plain
from unfooled.predict.registry import PREDICTORS, make_predictor
from unfooled.predict.sequential import Sequential
from unfooled.predict.smoothing import CertifiedMasked, RandomWordMask, SynonymVote
from unfooled.predict.two_step import TwoStep
from unfooled.predict.vote import Vote

__all__ = [
    "PREDICTORS",
    "CertifiedMasked",
    "Classifier",
    "Decision",
    "Plain",
    "Prediction",
    "Predictor",
    "RandomWordMask",
    "Sequential",
    "SynonymVote",
    "TwoStep",
    "Vote",
    "make_predictor",
]
