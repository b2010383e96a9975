"""Open a Hugging Face folder, asset or hub model as a model of texts: the weights of a run, or a new head."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from unfooled.errors import UsageError
from unfooled.hub.pretrained import location_of, open_config, open_pair
from unfooled.models.text import TextModel


def open_text(
    folder: str | Path, *, max_length: int, device: torch.device | str = "cpu", bf16: bool = False
) -> TextModel:
    """The model as it was saved in ``folder``."""
    module, tokenizer = open_pair("AutoModelForSequenceClassification", folder)
    return TextModel(module.to(device), tokenizer, max_length=max_length, bf16=bf16)


def open_encoder(
    encoder: str,
    labels: Sequence[str],
    *,
    max_length: int,
    layers: int | None = None,
    device: torch.device | str = "cpu",
    bf16: bool = False,
) -> TextModel:
    """The encoder (an asset, a folder or a hub model) with a head for these labels, ready to be trained.

    ``layers`` keeps the first blocks only. A new head is drawn from PyTorch's seed.
    """
    location = location_of(encoder)
    changes: dict[str, object] = {
        "num_labels": len(labels),
        "id2label": dict(enumerate(labels)),
        "label2id": {label: index for index, label in enumerate(labels)},
    }
    changes |= with_layers(encoder, location, layers)
    module, tokenizer = open_pair("AutoModelForSequenceClassification", location, fresh_head=True, **changes)
    return TextModel(module.to(device), tokenizer, max_length=max_length, bf16=bf16)


def with_layers(encoder: str, location: str, layers: int | None) -> dict[str, object]:
    """The change of configuration that keeps the first ``layers`` blocks; more than there are is refused."""
    if layers is None:
        return {}
    own = int(getattr(open_config(location), "num_hidden_layers", layers))
    if layers > own:  # the blocks that it does not have would be random
        raise UsageError(
            f"--layers {layers}: {encoder} has {own} encoder blocks. Give a number from 1 to {own}."
        )
    return {"num_hidden_layers": layers}
