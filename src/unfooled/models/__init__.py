"""The classifier around a Hugging Face encoder: embeddings, noise sites, masking, gradients."""

from unfooled.models.encoding import Batch, Encoded, collate
from unfooled.models.noise import FreshNoise, KeyedNoise, Noise, Sampler, Site, input_key, mix
from unfooled.models.text import Forward, TextModel

__all__ = [
    "Batch",
    "Encoded",
    "Forward",
    "FreshNoise",
    "KeyedNoise",
    "Noise",
    "Sampler",
    "Site",
    "TextModel",
    "collate",
    "input_key",
    "mix",
]
