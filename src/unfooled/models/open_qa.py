"""Open a Hugging Face folder, asset or hub model as one that answers questions: a run's, or a new head."""

from __future__ import annotations

from pathlib import Path

import torch

from unfooled.files import JsonObject
from unfooled.hub.pretrained import Head, location_of, open_pair
from unfooled.models.open_text import with_layers
from unfooled.models.qa import LONGEST_ANSWER, STRIDE, QaModel

HEAD: Head = "AutoModelForQuestionAnswering"


def open_questions(
    folder: str | Path,
    *,
    max_length: int,
    stride: int = STRIDE,
    longest_answer: int = LONGEST_ANSWER,
    unanswerable: bool = False,
    device: torch.device | str = "cpu",
    bf16: bool = False,
) -> QaModel:
    """The model as it was saved in ``folder``."""
    module, tokenizer = open_pair(HEAD, folder)
    return QaModel(
        module.to(device),
        tokenizer,
        max_length=max_length,
        stride=stride,
        longest_answer=longest_answer,
        unanswerable=unanswerable,
        bf16=bf16,
    )


def open_span_encoder(
    encoder: str,
    *,
    max_length: int,
    layers: int | None = None,
    unanswerable: bool = False,
    device: torch.device | str = "cpu",
    bf16: bool = False,
) -> QaModel:
    """The encoder (an asset, a folder or a hub model) with a span head, ready to be trained.

    A head that is there is kept; a new one is drawn from PyTorch's seed.
    """
    location = location_of(encoder)
    changes = {"num_labels": 2, **with_layers(encoder, location, layers)}
    module, tokenizer = open_pair(HEAD, location, fresh_head=True, **changes)
    return QaModel(module.to(device), tokenizer, max_length=max_length, unanswerable=unanswerable, bf16=bf16)


def described_questions(model: QaModel) -> JsonObject:
    """What ``unfooled.json`` must say of the model."""
    return {
        "max_length": model.max_length,
        "stride": model.stride,
        "longest_answer": model.longest_answer,
        "unanswerable": model.unanswerable,
    }
