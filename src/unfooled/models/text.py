"""``TextModel``: any Hugging Face sequence classifier, opened up.

Embed ids, run forward from embeddings with noise at chosen sites, copy rows where the votes begin
to differ, read hidden states, and take gradients with respect to the embeddings without computing
weight gradients. Nothing here decides a label: that is the business of ``unfooled.predictors``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, ClassVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from unfooled.errors import UsageError
from unfooled.files import JsonObject
from unfooled.hub.batches import tokens_per_batch
from unfooled.hub.memory import keep_freed_memory
from unfooled.hub.pretrained import position_limit
from unfooled.models import architecture as arch
from unfooled.models.black_box import BlackBox
from unfooled.models.encoding import Batch, Encoded, checked_texts, collate, encode, refusal
from unfooled.models.identity import WeightsDigest
from unfooled.models.model import EncodedInput, Forward, Model, Shared, Unreadable
from unfooled.models.noise import NoiseSampler, Site
from unfooled.models.taps import Reached, Tap, tapped

NOTHING_TO_READ = "the text has nothing to read (only spaces or control characters)"
_NOT_ARCHITECTURE = {
    "architectures",
    "dtype",
    "id2label",
    "label2id",
    "name_or_path",
    "torch_dtype",
    "transformers_version",
    "use_cache",
}
"""Entries of a model's configuration that change no answer."""


class TextModel(Model):
    """A sequence classifier and its tokenizer.

    >>> clf = TextModel(model, tokenizer, max_length=128)
    >>> batch = clf.batch(clf.encode(["a gorgeous, witty film"]))
    >>> clf.forward(batch).logits.shape
    torch.Size([1, 2])
    """

    kind: ClassVar[str] = "text"

    def __init__(self, model: Any, tokenizer: Any, *, max_length: int = 128, bf16: bool = False) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise UsageError(
                f"The tokenizer {type(tokenizer).__name__} is not a fast tokenizer; unfooled needs the "
                "character offsets that fast tokenizers give. Save it with a tokenizer.json."
            )
        if tokenizer.pad_token_id is None:
            raise UsageError(
                f"The tokenizer {type(tokenizer).__name__} has no padding token. Set its pad_token."
            )
        self.module = model
        self.tokenizer = tokenizer
        self.max_length = min(max_length, position_limit(model))
        self.bf16 = bf16
        self.architecture = arch.describe(model)
        self._takes_type_ids = getattr(model.config, "type_vocab_size", 0) > 1
        self._weights = WeightsDigest(model)
        if self.device.type == "cpu":
            keep_freed_memory()

    @property
    def device(self) -> torch.device:
        return next(self.module.parameters()).device

    @property
    def depth(self) -> int:
        """Number of encoder blocks."""
        return self.architecture.depth

    @property
    def num_labels(self) -> int:
        return int(self.module.config.num_labels)

    @property
    def precision(self) -> str:
        return "bf16" if self.bf16 else "float32"

    @property
    def batch_size(self) -> int:
        """Tokens per forward pass."""
        return tokens_per_batch(self.device)

    @property
    def parallel(self) -> bool:
        return True

    def evaluating(self) -> None:
        self.module.eval()

    @property
    def mask_token_id(self) -> int | None:
        """Id of the mask token; T5 and its kin use their first sentinel, absent that None."""
        if self.tokenizer.mask_token_id is not None:
            return int(self.tokenizer.mask_token_id)
        sentinel = self.tokenizer.convert_tokens_to_ids("<extra_id_0>")
        return sentinel if sentinel not in (None, self.tokenizer.unk_token_id) else None

    def mask_refusal(self) -> str:
        if self.mask_token_id is not None:
            return ""
        return (
            f"the tokenizer {type(self.tokenizer).__name__} has no mask token. Use an encoder with one "
            "(BERT, RoBERTa, …)"
        )

    def gap_refusal(self) -> str:
        """Why tokens cannot keep their places while others are left out; empty if they can."""
        if self.architecture.first_position is not None:
            return ""
        return (
            f"the encoder type '{self.module.config.model_type}' is not known to tell the place of tokens "
            "by absolute position numbers alone (it may use distances between tokens, which close up). Use "
            "BERT, RoBERTa, DistilBERT, ELECTRA, ALBERT or a relative of theirs"
        )

    def inputs(self, first: Sequence[str], second: Sequence[str] | None = None) -> list[tuple[str, ...]]:
        return checked_texts(first, second)

    def read(self, inputs: Sequence[str | tuple[str, ...]]) -> list[Encoded | Unreadable]:
        """Texts, or pairs of texts (all inputs alike); a text that has nothing to read is refused."""
        texts = [(own,) if isinstance(own, str) else own for own in inputs]
        found: list[Encoded | Unreadable] = [Unreadable(refusal(own)) for own in texts]
        # A refused text is not tokenised: it may be a million characters long.
        readable = [number for number, one in enumerate(found) if not cast(Unreadable, one).reason]
        pairs = [texts[number][1] for number in readable] if readable and len(texts[0]) == 2 else None
        encoded = self.encode([texts[number][0] for number in readable], pairs)
        for number, item in zip(readable, encoded, strict=True):
            found[number] = item if any(item.maskable) else Unreadable(NOTHING_TO_READ)
        return found

    def encode(self, texts: Sequence[str], pairs: Sequence[str] | None = None) -> list[Encoded]:
        return encode(self.tokenizer, texts, pairs, max_length=self.max_length)

    def batch(self, encoded: Sequence[Encoded], labels: Sequence[int] | None = None) -> Batch:
        """Pad and move to the model's device."""
        return collate(encoded, pad_id=self.tokenizer.pad_token_id, labels=labels).to(self.device)

    def embed(self, ids: Tensor) -> Tensor:
        """Word embeddings ``(rows, tokens, width)``: the table's output, before positions and LayerNorm."""
        return self.architecture.embeddings(ids)

    def embedding_table(self) -> NDArray[np.float32]:
        """The word embeddings of the whole vocabulary, ``(vocabulary, width)``."""
        weight: Any = self.architecture.embeddings.weight
        with torch.inference_mode():
            ids = torch.arange(weight.shape[0], device=self.device)
            found: NDArray[np.float32] = self.embed(ids.unsqueeze(0))[0].float().cpu().numpy()
        return found

    def start(self, batch: Batch) -> Tensor:
        """The tensor that noise is added to: the word embeddings of the batch."""
        return self.embed(batch.ids)

    def coordinates(self, item: Encoded) -> int:
        width = self.embed(torch.zeros((1, 1), dtype=torch.long, device=self.device)).shape[-1]
        return len(item) * width

    def check_sites(self, sites: Sequence[Site], setting: str = "noise_layers") -> None:
        """Refuse a site that the encoder does not have, naming the setting."""
        for site in sites:
            if site != "embeddings" and site not in range(self.depth):
                raise UsageError(
                    f"{setting}: block {site!r} does not exist; this encoder has {self.depth} blocks, "
                    f"0 to {self.depth - 1}. Choose among those, or 'embeddings'."
                )

    def forward(
        self,
        batch: Batch,
        *,
        start: Tensor | None = None,
        sampler: NoiseSampler | None = None,
        sites: Sequence[Site] = (),
        copies: Sequence[int] | None = None,
        hidden_states: bool = False,
    ) -> Forward:
        """One forward pass.

        ``start`` stands in for the table's output; ``sampler`` gives the noise added at ``sites``.
        With ``copies``, row ``r`` of the result belongs to row ``copies[r]`` of the batch, and what the
        copies have in common (everything before the first site) is computed once.
        """
        index = None if copies is None else torch.tensor(copies, device=batch.ids.device)
        if index is not None and not self._blocks_may_share(sites):
            batch = batch.rows(index)
            start = None if start is None else start[index]
            index = None
        tap = Tap(
            mask=batch.mask,
            noised=batch.noised,
            embeddings=start,
            sampler=sampler,
            sites=tuple(sites),
            copies=index,
            first_token=not (hidden_states or self.module.training),
            record=hidden_states,
        )
        return self._run(batch, tap)

    def shared(self, batch: Batch, sites: Sequence[Site]) -> Shared | None:
        """The blocks up to the first noise site, where copies of a row begin to differ."""
        if not self._blocks_may_share(sites) or self.module.training:
            return None
        tap = Tap(
            mask=batch.mask,
            noised=batch.noised,
            first_token=True,
            ends_at=min(site for site in sites if site != "embeddings"),
        )
        try:
            self._run(batch, tap)
        except Reached as reached:
            return reached.shared
        raise AssertionError("the first noise site is one of the blocks")

    def after(
        self,
        batch: Batch,
        shared: Shared,
        *,
        sampler: NoiseSampler,
        sites: Sequence[Site],
        copies: Sequence[int],
    ) -> Forward:
        index = torch.tensor(copies, device=batch.ids.device)
        tap = Tap(
            mask=batch.mask,
            noised=batch.noised,
            sampler=sampler,
            sites=tuple(sites),
            copies=index,
            first_token=True,
            shared=shared,
        )
        return self._run(batch, tap)

    def _run(self, batch: Batch, tap: Tap) -> Forward:
        """Call the module on the batch with the tap in it."""
        inputs = {"input_ids": batch.ids, "attention_mask": batch.mask}
        if self._takes_type_ids:
            inputs["token_type_ids"] = batch.type_ids
        if batch.positions is not None:
            inputs["position_ids"] = batch.positions + self._first_position()
        attention = self.trained_attention() if self.module.training else nullcontext()
        with tapped(self.architecture, tap), self.autocast(), attention:
            output = self.module(**inputs)
        logits = self._logits(output, batch, tap.copies if tap.copied else None)
        summary = None if tap.last is None else self._summary(tap.last, tap.mask)
        ended = tap.ended if self.architecture.rows_may_repeat_between_blocks else None
        return Forward(logits.float(), tuple(tap.hidden), summary, tap.features, ended)

    def _logits(self, output: Any, batch: Batch, copies: Tensor | None) -> Tensor:
        """What the head says; ``copies`` are the rows of the batch that rows of the output belong to."""
        logits: Tensor = output.logits
        return logits

    def _summary(self, last: Tensor, mask: Tensor) -> Tensor:
        """What the head reads of each row of the last layer."""
        if self.architecture.summary == "first":
            return last[:, 0].float()
        if self.architecture.summary == "last":
            return last[torch.arange(len(last), device=last.device), mask.sum(dim=1) - 1].float()
        weights = mask.unsqueeze(-1).float()
        return (last.float() * weights).sum(dim=1) / weights.sum(dim=1)

    def _blocks_may_share(self, sites: Sequence[Site]) -> bool:
        """Whether copies of a row have a block in common before the first noise site."""
        return self.architecture.rows_may_repeat_between_blocks and bool(sites) and "embeddings" not in sites

    def _first_position(self) -> int:
        if (first := self.architecture.first_position) is None:
            raise UsageError(f"Some tokens were left out without a trace, but {self.gap_refusal()}.")
        return first

    def identity(self) -> JsonObject:
        """Weights, architecture, tokenizer, and how they are used."""
        return {
            "weights": self._weights(),
            "architecture": _architecture(self.module),
            "tokenizer": _tokenizer(self.tokenizer),
            "max_length": self.max_length,
            "device": self.device.type,
            "bf16": self.bf16,
        }

    @contextmanager
    def in_float32(self) -> Iterator[None]:
        """Full precision inside, whatever the classifier is set to."""
        before, self.bf16 = self.bf16, False
        try:
            yield
        finally:
            self.bf16 = before

    def trained_attention(self) -> AbstractContextManager[Any]:
        """For passes of a training step, in one thread: attention that is quickly differentiated.

        On a CPU, the backward pass of PyTorch's fused attention in bfloat16 takes three to six times as long
        as the plain one at up to 128 tokens. Dropout of attention weights takes the plain one anyway.
        """
        if self.bf16 and self.device.type == "cpu":
            return sdpa_kernel(SDPBackend.MATH)
        return nullcontext()

    def autocast(self) -> AbstractContextManager[Any]:
        """bfloat16 where asked for; float32 otherwise."""
        if not self.bf16 or torch.is_autocast_enabled(self.device.type):
            return nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)


def as_text(model: Model) -> TextModel:
    """The model as a model of texts, for what works on words and tokens only; others are refused."""
    if isinstance(model, BlackBox):
        model.closed()
    if not isinstance(model, TextModel):
        raise UsageError(
            f"This needs a model of texts, and {type(model).__name__} is none: it has no words or tokens."
        )
    return model


def as_reader(model: Model) -> TextModel | BlackBox:
    """The model as one that reads texts, a black box too, for what works on words; others are refused."""
    return model if isinstance(model, BlackBox) else as_text(model)


def as_texts(encoded: Sequence[EncodedInput]) -> Sequence[Encoded]:
    """The inputs of a model of texts (see :func:`as_text`) as what they are."""
    return cast("Sequence[Encoded]", encoded)


def _tokenizer(tokenizer: Any) -> str:
    """SHA-256 of the tokenizer, without the truncation and padding that its last call set."""
    told = json.loads(tokenizer.backend_tokenizer.to_str()) | {"truncation": None, "padding": None}
    return _digest(json.dumps(told, sort_keys=True).encode())


def _architecture(module: Any) -> str:
    """SHA-256 of what the same weights are computed by: heads, activations, …, not names and versions."""
    told = {
        key: value
        for key, value in module.config.to_dict().items()
        if key not in _NOT_ARCHITECTURE and not key.startswith("_")
    }
    return _digest(json.dumps([type(module).__name__, told], sort_keys=True, default=str).encode())


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
