"""Models: the protocol that the other rooms are written to, and its kinds: texts, images, tensors."""

from unfooled.models.black_box import BlackBox
from unfooled.models.encoding import Batch, Encoded, collate
from unfooled.models.image import EncodedImage, ImageModel, as_image, own_name
from unfooled.models.model import EncodedInput, Forward, InputBatch, Model, Shared, Unreadable
from unfooled.models.noise import FreshNoise, KeyedNoise, Noise, NoiseSampler, Site, input_key, mix
from unfooled.models.open_image import (
    new_image_model,
    open_image_model,
    own_image_model,
    save_image_model,
)
from unfooled.models.open_text import open_encoder, open_text
from unfooled.models.tensor import TensorModel
from unfooled.models.text import TextModel, as_reader, as_text, as_texts

__all__ = [
    "Batch",
    "BlackBox",
    "Encoded",
    "EncodedImage",
    "EncodedInput",
    "Forward",
    "FreshNoise",
    "ImageModel",
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
    "as_image",
    "as_reader",
    "as_text",
    "as_texts",
    "collate",
    "input_key",
    "mix",
    "new_image_model",
    "open_encoder",
    "open_image_model",
    "open_text",
    "own_image_model",
    "own_name",
    "save_image_model",
]
