"""What a model is, whatever it reads: the protocol that predictors, defences and certificates are written to.

A kind of model (``text.py``, ``image.py``, ``tensor.py``) reads inputs, puts them into batches, and runs
forward from the tensor that noise is added to, its *start*: the word embeddings of a text, the pixels of an
image. Nothing here decides a label: that is the business of ``unfooled.predictors``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from unfooled.files import JsonObject
from unfooled.models.noise import NoiseSampler, Site

Excerpt = tuple[str, tuple[int, int, int]]
"""What stands at a position of an input, and its place: (which text, first character, past the last)."""

OF_TEXTS = ("text", "question")
"""Kinds of model whose inputs are texts, read with a tokenizer."""


class EncodedInput(Protocol):
    """One input as a model reads it. ``len`` is its share of a batch (see ``Model.batch_size``)."""

    @property
    def truncated(self) -> bool:
        """Whether a part of the input is not read."""
        ...

    def __len__(self) -> int: ...

    def key(self) -> object:
        """What the answer depends on. Draws are keyed by its ``repr``, so equal inputs get equal draws."""
        ...

    def show(self) -> str:
        """The input in a line of text, for reports."""
        ...

    def excerpts(self, positions: Sequence[int]) -> list[Excerpt]:
        """What stands at these positions; nothing, where the kind has no positions to name."""
        ...


@dataclass(frozen=True)
class Unreadable:
    """An input that the model does not read, and why."""

    reason: str
    shown: str = ""

    def show(self) -> str:
        return self.shown


@dataclass(frozen=True)
class Shared:
    """What all copies of a row have in common: its states at the first noise site, before the noise."""

    states: Tensor
    """``(rows, tokens, width)``; one token where the rest of the model reads no other."""
    in_tuple: bool = False
    """The block that gave them returns a tuple."""


@dataclass(frozen=True)
class Forward:
    """Result of a forward pass: ``logits`` ``(rows, classes)``, hidden states if asked for.

    Of questions, ``(rows, 2, tokens)``: where the answer begins and ends. What is written to the last
    dimension (softmax, cross-entropy, divergences) serves both.
    """

    logits: Tensor
    hidden: tuple[Tensor, ...] = ()
    summary: Tensor | None = None
    """Of texts, with the hidden states: the token of the last layer that the classification head reads,
    before any pooler (``[CLS]``, or the end of the text), ``(rows, width)``."""
    features: Tensor | None = None
    """Of texts, with the hidden states: what the embedding layer, with positions and LayerNorm, gives to
    the first block, ``(rows, tokens, width)``."""
    ended: Shared | None = None
    """Of texts, with the hidden states: what the last block gave, for a pass that goes on from there
    (``after``); None where the encoder cannot."""


@dataclass(frozen=True)
class Compared:
    """What several passes say about one input: a row per pass, a number per possible answer."""

    rows: Sequence[Sequence[float]]
    answers: tuple[tuple[int, int], ...] | None = None
    """The possible answers as spans of characters, (0, 0) for none; None: the labels of the model."""


class InputBatch(Protocol):
    """Inputs that go through one forward pass together."""

    @property
    def labels(self) -> Tensor | None: ...

    def __len__(self) -> int: ...

    def rows(self, index: Tensor) -> Any:
        """The given rows as a batch, in that order, repeated where they are named twice."""
        ...


class Model(Protocol):
    """Reads inputs and gives logits.

    Each kind has inputs, encoded inputs and batches of its own; a caller hands back what it was given. The
    rows of a batch never influence each other, so order, batch size and padding change no answer. Kinds
    inherit from it: ``gradient`` is written once.
    """

    kind: ClassVar[str]
    """What it reads: ``text``, ``question`` (with its context), ``image`` or ``tensor``."""

    bounds: ClassVar[tuple[float, float] | None] = None
    """The smallest and largest value of an input, where values have limits: 0 and 1 of pixels."""

    module: Any
    """What is called, with its weights: a PyTorch module, or a function of a tensor."""

    @property
    def device(self) -> torch.device: ...

    @property
    def num_labels(self) -> int: ...

    @property
    def precision(self) -> str:
        """In which precision answers are computed: ``float32``, ``bf16``, …"""
        ...

    @property
    def batch_size(self) -> int:
        """How much one forward pass takes, in the unit of ``len(encoded)``: tokens of texts, or inputs."""
        ...

    @property
    def parallel(self) -> bool:
        """Whether forward passes may run side by side in threads."""
        ...

    def evaluating(self) -> None:
        """Switch dropout and batch statistics off."""
        ...

    def inputs(self, first: Any, second: Sequence[Any] | None = None) -> Any:
        """What ``read`` takes, from what a user gave; ``second`` are the second texts of pairs."""
        ...

    def read(self, inputs: Any) -> list[Any]:
        """One :class:`EncodedInput` per input, or :class:`Unreadable` with the reason."""
        ...

    def batch(self, encoded: Sequence[Any], labels: Sequence[Any] | None = None) -> Any:
        """An :class:`InputBatch` of these inputs on the model's device."""
        ...

    def parts(self, item: Any) -> Sequence[Any]:
        """The rows in which an input is read: itself, or the windows of a long context."""
        return (item,)

    def readings(self, items: Sequence[Any], logits: Tensor) -> list[Any]:
        """What each row of logits says about the part it belongs to, for ``compared``."""
        found: list[Any] = logits.cpu().tolist()
        return found

    def compared(self, item: Any, passes: Sequence[Sequence[Any]]) -> Compared:
        """Several passes over one input side by side; of each pass, the readings of all parts."""
        return Compared([own for (own,) in passes])

    def decisive(self, items: Sequence[Any], logits: Tensor) -> Tensor:
        """The numbers that decide the answer to each row, ``(rows, numbers)``: for checks of the model.

        A row has the same numbers in every batch, whatever it is padded to.
        """
        return logits

    def answer_texts(self, item: Any, answers: Sequence[tuple[int, int]]) -> list[str]:
        """The text of each possible answer that is a span (``Compared.answers``)."""
        raise AssertionError(f"the answers of {type(self).__name__} are labels")

    def start(self, batch: Any) -> Tensor:
        """The tensor that noise is added to, ``(rows, …)``: word embeddings, or the values of a tensor."""
        ...

    def coordinates(self, item: Any) -> int:
        """How many numbers the start of this input has."""
        ...

    def forward(
        self,
        batch: Any,
        *,
        start: Tensor | None = None,
        sampler: NoiseSampler | None = None,
        sites: Sequence[Site] = (),
        copies: Sequence[int] | None = None,
        hidden_states: bool = False,
    ) -> Forward:
        """One forward pass, from ``start`` where it is given; ``sampler`` gives the noise added at ``sites``.

        With ``copies``, row ``r`` of the result belongs to row ``copies[r]`` of the batch.
        """
        ...

    def shared(self, batch: Any, sites: Sequence[Site]) -> Shared | None:
        """The part of a forward pass before the noise, for ``after``; None if there is no such part."""
        return None

    def after(
        self,
        batch: Any,
        shared: Shared,
        *,
        sampler: NoiseSampler,
        sites: Sequence[Site],
        copies: Sequence[int],
    ) -> Forward:
        """The rest of the forward pass: as ``forward`` with the same arguments, from what is shared."""
        raise AssertionError(f"{type(self).__name__} shares nothing between copies of a row")

    def gradient(
        self,
        batch: Any,
        labels: Tensor | None = None,
        *,
        start: Tensor | None = None,
        sampler: NoiseSampler | None = None,
        sites: Sequence[Site] = (),
        draws: int = 1,
    ) -> tuple[Tensor, Tensor]:
        """Gradient of each row's own loss with respect to its start, and the mean probabilities (RSMI Eq. 3).

        ``start`` stands in for the batch's own, as in ``forward``.
        The loss is −log of the probability of ``labels`` (of the model's own prediction if None), averaged
        over ``draws`` noise draws inside the log. No weight gradient is computed: only the path to the start
        is differentiated.
        """
        with torch.enable_grad():
            given = self.start(batch) if start is None else start
            start = given.detach().requires_grad_(True)
            copies = None if draws == 1 else [row for row in range(len(batch)) for _ in range(draws)]
            forward = self.forward(batch, start=start, sampler=sampler, sites=sites, copies=copies)
            logits = forward.logits
            log_each = F.log_softmax(logits, dim=-1).view(len(batch), draws, *logits.shape[1:])
            log_mean = torch.logsumexp(log_each, dim=1) - math.log(draws)
            target = log_mean.argmax(dim=-1) if labels is None else labels
            # Rows do not interact, so the gradient of the sum holds each row's own gradient.
            loss = F.nll_loss(log_mean.flatten(0, -2), target.flatten(), reduction="sum")
            (gradient,) = torch.autograd.grad(loss, start)
        return gradient, log_mean.detach().exp()

    def check_sites(self, sites: Sequence[Site], setting: str = "noise_layers") -> None:
        """Refuse a noise site that the model does not have, naming the setting."""
        ...

    def mask_refusal(self) -> str:
        """Why parts of an input cannot be hidden from this model; empty if they can."""
        ...

    def identity(self) -> JsonObject:
        """Whatever the answers depend on, as JSON: weights, architecture, tokenizer, precision, device."""
        ...
