"""A tiny model of every kind, and random inputs for it: property tests are written once for all kinds.

A new kind of model gets an entry in ``KINDS``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from hypothesis import strategies as st
from torch import nn

from tiny_models import WORDS, tiny_classifier
from unfooled.models import Model, TensorModel, Unreadable, new_image_model


@dataclass(frozen=True)
class Kind:
    """How to make a model of this kind, and what it can be asked to read."""

    name: str
    inputs: st.SearchStrategy[Any] = field(repr=False)

    def model(self) -> Model:
        return _model(self.name)

    def read(self, inputs: Any) -> list[Any]:
        """The inputs that the model reads; those that it refuses are left out."""
        return [item for item in self.model().read(inputs) if not isinstance(item, Unreadable)]


IMAGES = {"image": "", "image, mask network": "unet", "image, static mask": "static"}
"""The mask of a model of images, by the name of the kind."""


@cache
def _model(name: str) -> Model:
    if name == "tensor":
        torch.manual_seed(3)
        network = nn.Sequential(nn.Flatten(), nn.Linear(12, 8), nn.Tanh(), nn.Linear(8, 3))
        return TensorModel(network, (3, 4), batch_size=5)
    if name in IMAGES:
        torch.manual_seed(3)
        model = new_image_model("small-cnn:width=4", (2, 5, 4), 3)
        if mask := IMAGES[name]:
            model.attach_mask(mask, {})
        return model
    return tiny_classifier(name)


known = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)
strange = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
"""Any Unicode, emoji and control characters too, but lone surrogates, which ``Model.inputs`` replaces."""
texts = st.lists(
    st.one_of(known, strange, st.tuples(known, strange, known).map("".join)), min_size=1, max_size=5
)


def _tensors(seeds: list[int]) -> torch.Tensor:
    return torch.stack([torch.randn(3, 4, generator=torch.Generator().manual_seed(seed)) for seed in seeds])


tensors = st.lists(st.integers(0, 1000), min_size=1, max_size=5).map(_tensors)


def _images(seeds: list[int]) -> list[torch.Tensor]:
    """Bytes, and numbers from 0 to 1."""
    draws = [torch.Generator().manual_seed(seed) for seed in seeds]
    return [
        torch.randint(0, 256, (5, 4, 2), dtype=torch.uint8, generator=draw)
        if seed % 3
        else torch.rand(2, 5, 4, generator=draw)
        for seed, draw in zip(seeds, draws, strict=True)
    ]


images = st.lists(st.integers(0, 1000), min_size=1, max_size=5).map(_images)

KINDS = {
    "text (bert)": Kind("bert", texts),
    "text (t5)": Kind("t5", texts),
    "text (deberta-v2)": Kind("deberta-v2", texts),
    "tensor": Kind("tensor", tensors),
    "image": Kind("image", images),
}
