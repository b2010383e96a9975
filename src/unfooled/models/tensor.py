"""``TensorModel``: any PyTorch module or function that gives logits for tensors: images, features, signals.

>>> model = TensorModel(network, (1, 28, 28))
>>> model.forward(model.batch(model.read(images))).logits.shape
torch.Size([5, 10])

Noise is added to the values as they are given, so radii are in their units: scale to [0, 1] before, not
inside.
"""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from unfooled.errors import UsageError
from unfooled.models.identity import WeightsDigest, code_digest
from unfooled.models.model import Excerpt, Forward, Model, Unreadable
from unfooled.models.noise import NoiseSampler, Site

VALUES_PER_BATCH = 2_000_000
"""Numbers in a batch, so that large images come in small batches."""


@dataclass(frozen=True)
class EncodedTensor:
    """One input: its values, ``(…)``."""

    values: Tensor
    channels_last: bool = False
    """The memory layout of the images it came with, which the module may be faster with."""

    @property
    def truncated(self) -> bool:
        return False

    def __len__(self) -> int:
        return 1

    def key(self) -> object:
        values = self.values.detach().cpu().double().numpy()
        return values.shape, values.tobytes()

    def show(self) -> str:
        """Shape, precision and the beginning of a digest: which tensor it is, not what it looks like."""
        shape = "×".join(map(str, self.values.shape))
        return f"tensor {shape}, {_name(self.values.dtype)}, {self.digest()[:12]}"

    def digest(self) -> str:
        """Which tensor it is, precision included."""
        return hashlib.sha256(repr((_name(self.values.dtype), self.key())).encode()).hexdigest()

    def excerpts(self, positions: Sequence[int]) -> list[Excerpt]:
        return []


@dataclass(frozen=True)
class TensorBatch:
    """Rows of stacked inputs ``(inputs, …)``; a row is copied only when its values are asked for."""

    inputs: Tensor
    index: Tensor | None = None
    """The input behind each row; without it, each has one row."""
    labels: Tensor | None = None

    def __len__(self) -> int:
        return len(self.inputs if self.index is None else self.index)

    @property
    def values(self) -> Tensor:
        return self.inputs if self.index is None else self.inputs[self.index]

    def rows(self, index: Tensor) -> TensorBatch:
        """The given rows, in that order, repeated where they are named twice."""
        return replace(
            self,
            index=index if self.index is None else self.index[index],
            labels=None if self.labels is None else self.labels[index],
        )


class TensorModel(Model):
    """A module or function from ``(rows, *shape)`` to logits ``(rows, classes)``.

    A module is put in evaluation mode, since batch statistics would let the rows of a batch depend on each
    other. Rows must be answered independently: a certificate rests on it, and certifying checks it.
    """

    kind: ClassVar[str] = "tensor"

    def __init__(
        self,
        module: Callable[[Tensor], Tensor],
        shape: Sequence[int],
        *,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str | None = None,
        batch_size: int = 256,
    ) -> None:
        if batch_size < 1:
            raise UsageError(f"batch_size must be at least 1, got {batch_size}.")
        self.module: Any = module
        self.shape = tuple(shape)
        self.dtype = dtype
        weights = list(module.parameters()) if isinstance(module, nn.Module) else []
        self._device = (
            torch.device(device) if device else weights[0].device if weights else torch.device("cpu")
        )
        self._rows = max(1, min(batch_size, VALUES_PER_BATCH // max(1, math.prod(self.shape))))
        self._weights = WeightsDigest(module) if isinstance(module, nn.Module) else None
        self._own_token = secrets.token_hex(8)
        self.evaluating()
        self._num_labels = self._count_labels()

    @property
    def device(self) -> torch.device:
        return self._device

    @property
    def num_labels(self) -> int:
        return self._num_labels

    @property
    def precision(self) -> str:
        return _name(self.dtype)

    @property
    def batch_size(self) -> int:
        """Inputs per forward pass."""
        return self._rows

    @property
    def parallel(self) -> bool:
        return False  # nobody promised that a user's function may be called from several threads

    def evaluating(self) -> None:
        if isinstance(self.module, nn.Module):
            self.module.eval()

    def inputs(self, first: object, second: Sequence[object] | None = None) -> Any:
        if second is not None:
            raise UsageError("This model reads tensors, which have no second texts: leave out pairs.")
        if not isinstance(first, Tensor):
            raise UsageError(f"This model reads a tensor with one row per input, not {type(first).__name__}.")
        return first

    def read(self, inputs: Tensor | Sequence[Any]) -> list[Any]:
        """Rows of a tensor ``(inputs, …)``; one that holds NaN or infinite values is refused."""
        if isinstance(inputs, Tensor):
            check_tensors(inputs)
        found: list[EncodedTensor | Unreadable] = []
        for row in inputs:
            if tuple(row.shape) != self.shape:
                raise UsageError(
                    f"The inputs have the shape {tuple(row.shape)}, and the model reads {self.shape}."
                )
            item = EncodedTensor(row, _channels_last(row))
            fine = bool(torch.isfinite(row).all())
            found.append(item if fine else Unreadable("the input holds NaN or infinite values", item.show()))
        return found

    def batch(self, encoded: Sequence[EncodedTensor], labels: Sequence[int] | None = None) -> TensorBatch:
        rows = torch.stack([item.values for item in encoded]).to(self.device)
        if encoded[0].channels_last:
            rows = rows.contiguous(memory_format=torch.channels_last)
        truth = None if labels is None else torch.tensor(list(labels), device=self.device)
        return TensorBatch(rows, labels=truth)

    def start(self, batch: TensorBatch) -> Tensor:
        """The values themselves."""
        return batch.values

    def coordinates(self, item: EncodedTensor) -> int:
        return item.values.numel()

    def check_sites(self, sites: Sequence[Site], setting: str = "noise_layers") -> None:
        for site in sites:
            if site != "embeddings":
                raise UsageError(
                    f"{setting}: a model of tensors takes noise at its input only, not after block {site!r}."
                )

    def mask_refusal(self) -> str:
        return "a tensor has no tokens that could be hidden. Use masking=none"

    def forward(
        self,
        batch: TensorBatch,
        *,
        start: Tensor | None = None,
        sampler: NoiseSampler | None = None,
        sites: Sequence[Site] = (),
        copies: Sequence[int] | None = None,
        hidden_states: bool = False,
    ) -> Forward:
        """Logits of ``start``, or of the batch's own values, with the sampler's noise.

        Sums are made in single precision at least and rounded to the inputs' own afterwards: half-precision
        noise would be far from Gaussian.
        """
        if hidden_states:
            raise UsageError("A model of tensors has no hidden states that unfooled could read.")
        own = batch.inputs
        values = batch.values if start is None else start
        if copies is not None:
            values = values[torch.tensor(copies, device=values.device)]
        if sampler is not None and sites:
            values = values.to(torch.promote_types(values.dtype, torch.float32))
            values = values + sampler("embeddings", values, None)
        values = values.to(own.dtype)
        if own.dim() == 4 and not own.is_contiguous():  # channels last, as the inputs came
            values = values.contiguous(memory_format=torch.channels_last)
        logits = self.answer(values)
        if tuple(logits.shape) != (len(values), self.num_labels):
            raise UsageError(
                f"The model gave scores of the shape {tuple(logits.shape)} for {len(values)} inputs and "
                f"{self.num_labels} classes: it must give one row per input."
            )
        return Forward(logits.to(torch.promote_types(logits.dtype, torch.float32)))

    def answer(self, values: Tensor) -> Tensor:
        """What the module gives for these values."""
        logits: Tensor = self.module(values)
        return logits

    def weights(self) -> str | None:
        """The digest of the weights; None for a function."""
        return None if self._weights is None else self._weights()

    def identity(self) -> dict[str, object]:
        """Weights, code, settings and precision; a model whose code cannot be told apart is only itself."""
        return {
            "reads": "tensors",
            "weights": self.weights(),
            "code": code_digest(self.module) or f"unknown {self._own_token}",
            "shape": list(self.shape),
            "device": self.device.type,
            "precision": self.precision,
        }

    def _count_labels(self) -> int:
        one = torch.zeros((1, *self.shape), dtype=self.dtype, device=self.device)
        try:
            with torch.inference_mode():
                scores = self.module(one)
        except ValueError as error:
            if "more than 1 value per channel" not in str(error):
                raise
            raise UsageError(
                "The model cannot answer one input alone: its BatchNorm takes the statistics of the batch, "
                "so the answer of an input depends on the others. Use running statistics, in evaluation mode."
            ) from error
        shape = tuple(scores.shape)
        if len(shape) != 2 or shape[0] != 1 or shape[1] < 2:
            raise UsageError(
                f"The model gave scores of the shape {shape} for one input: it must be (1, classes) with two "
                "classes or more. A model of one output can give two: torch.stack([-score, score], dim=1)."
            )
        return int(shape[1])


def check_tensors(inputs: object) -> None:
    """Refuse what is not one floating-point row per input."""
    if not isinstance(inputs, Tensor) or inputs.dim() < 2 or not inputs.is_floating_point():
        raise UsageError(
            "inputs must be floating-point numbers with one row per input, such as (images, 1, 28, 28)."
        )


def _channels_last(row: Tensor) -> bool:
    """Whether an image ``(channels, height, width)`` is stored channel by channel of each pixel."""
    return row.dim() == 3 and not row.is_contiguous() and row.permute(1, 2, 0).is_contiguous()


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
