"""Random transformations of an input whose majority answer can be certified: one file each.

Each is a frozen dataclass of settings that draws labels (``sampler``) and, registered as a predictor, answers
by a vote over them. What may be claimed of the votes is the business of ``unfooled.certificates``.
"""

from unfooled.predictors.smoothing.base import SmoothedVote, Transformation
from unfooled.predictors.smoothing.certified_masked import CertifiedMasked, masked_average
from unfooled.predictors.smoothing.embedding_noise import EmbeddingNoise
from unfooled.predictors.smoothing.majority import Majority
from unfooled.predictors.smoothing.masked_pixels import Ars, MaskedPixels, StaticMaskVote
from unfooled.predictors.smoothing.streams import (
    ATTACK,
    BLOCK,
    DECIDE,
    DRAWS_VERSION,
    ESTIMATE,
    SELECT,
    DrawRequest,
    LabelSampler,
    TextVersions,
)
from unfooled.predictors.smoothing.synonym_substitution import SubstitutionSets, SynonymVote, resampled
from unfooled.predictors.smoothing.word_deletion import RandomWordDelete
from unfooled.predictors.smoothing.word_masking import RandomWordMask
from unfooled.predictors.smoothing.word_tokens import WordAssembler, WordTokens

__all__ = [
    "ATTACK",
    "BLOCK",
    "DECIDE",
    "DRAWS_VERSION",
    "ESTIMATE",
    "SELECT",
    "Ars",
    "CertifiedMasked",
    "DrawRequest",
    "EmbeddingNoise",
    "LabelSampler",
    "Majority",
    "MaskedPixels",
    "RandomWordDelete",
    "RandomWordMask",
    "SmoothedVote",
    "StaticMaskVote",
    "SubstitutionSets",
    "SynonymVote",
    "TextVersions",
    "Transformation",
    "WordAssembler",
    "WordTokens",
    "masked_average",
    "resampled",
]
