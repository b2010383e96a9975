"""The classifier around a Hugging Face encoder: embeddings, noise sites, masking, gradients."""

from unfooled.models.encoding import Batch, Encoded, collate, length_sorted_chunks
from unfooled.models.noise import FreshNoise, KeyedNoise, Noise, Sampler, Site, input_key, mix
from unfooled.models.parallel import balanced, map_batches, tokens_a_batch
from unfooled.models.precision import default_device, has_fast_bf16
from unfooled.models.text import Forward, TextClassifier

__all__ = [
    "Batch",
    "Encoded",
    "Forward",
    "FreshNoise",
    "KeyedNoise",
    "Noise",
    "Sampler",
    "Site",
    "TextClassifier",
    "balanced",
    "collate",
    "default_device",
    "has_fast_bf16",
    "input_key",
    "length_sorted_chunks",
    "map_batches",
    "mix",
    "tokens_a_batch",
]
