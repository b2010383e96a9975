"""Models: the protocol that other rooms are written to, and its kinds: texts, questions, images, tensors."""

from unfooled.models.black_box import BlackBox
from unfooled.models.encoding import Batch, Encoded, collate
from unfooled.models.image import EncodedImage, ImageModel, as_image, own_name
from unfooled.models.model import (
    OF_TEXTS,
    Compared,
    EncodedInput,
    Forward,
    InputBatch,
    Model,
    Shared,
    Unreadable,
)
from unfooled.models.noise import FreshNoise, KeyedNoise, Noise, NoiseSampler, Site, input_key, mix
from unfooled.models.open_image import (
    new_image_model,
    open_image_model,
    own_image_model,
    save_image_model,
)
from unfooled.models.open_qa import described_questions, open_questions, open_span_encoder
from unfooled.models.open_text import open_encoder, open_text
from unfooled.models.qa import QaModel, as_questions
from unfooled.models.tensor import TensorModel
from unfooled.models.text import TextModel, as_reader, as_text, as_texts
from unfooled.models.windows import EncodedQuestion, Window

__all__ = [
    "OF_TEXTS",
    "Batch",
    "BlackBox",
    "Compared",
    "Encoded",
    "EncodedImage",
    "EncodedInput",
    "EncodedQuestion",
    "Forward",
    "FreshNoise",
    "ImageModel",
    "InputBatch",
    "KeyedNoise",
    "Model",
    "Noise",
    "NoiseSampler",
    "QaModel",
    "Shared",
    "Site",
    "TensorModel",
    "TextModel",
    "Unreadable",
    "Window",
    "as_image",
    "as_questions",
    "as_reader",
    "as_text",
    "as_texts",
    "collate",
    "described_questions",
    "input_key",
    "mix",
    "new_image_model",
    "open_encoder",
    "open_image_model",
    "open_questions",
    "open_span_encoder",
    "open_text",
    "own_image_model",
    "own_name",
    "save_image_model",
]
