"""Models: the protocol that the other rooms are written to, and its kinds, texts and tensors."""

from unfooled.models.black_box import BlackBox
from unfooled.models.encoding import Batch, Encoded, collate
from unfooled.models.model import EncodedInput, Forward, InputBatch, Model, Shared, Unreadable
from unfooled.models.noise import FreshNoise, KeyedNoise, Noise, NoiseSampler, Site, input_key, mix
from unfooled.models.open_text import open_encoder, open_text
from unfooled.models.tensor import TensorModel
from unfooled.models.text import TextModel, as_reader, as_text, as_texts

__all__ = [
    "Batch",
    "BlackBox",
    "Encoded",
    "EncodedInput",
    "Forward",
    "FreshNoise",
    "InputBatch",
    "KeyedNoise",
    "Model",
    "Noise",
    "NoiseSampler",
    "Shared",
    "Site",
    "TensorModel",
    "TextModel",
    "Unreadable",
    "as_reader",
    "as_text",
    "as_texts",
    "collate",
    "input_key",
    "mix",
    "open_encoder",
    "open_text",
]
