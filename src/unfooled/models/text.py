"""``TextModel``: any Hugging Face sequence classifier, opened up.

Embed ids, run forward from embeddings with noise at chosen sites, copy rows where the votes begin
to differ, read hidden states, and take gradients with respect to the embeddings without computing
weight gradients. Nothing here decides a label: that is the business of ``unfooled.predictors``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from unfooled.errors import UsageError
from unfooled.hub.pretrained import position_limit
from unfooled.models import architecture as arch
from unfooled.models.encoding import Batch, Encoded, collate, encode
from unfooled.models.noise import Sampler, Site
from unfooled.models.taps import Tap, tapped


@dataclass(frozen=True)
class Forward:
    """Result of a forward pass: ``logits`` ``(rows, classes)``, hidden states if asked for."""

    logits: Tensor
    hidden: tuple[Tensor, ...] = ()


class TextModel:
    """A sequence classifier and its tokenizer.

    >>> clf = TextModel(model, tokenizer, max_length=128)
    >>> batch = clf.batch(clf.encode(["a gorgeous, witty film"]))
    >>> clf.forward(batch).logits.shape
    torch.Size([1, 2])
    """

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
    def mask_token_id(self) -> int | None:
        """Id of the mask token; T5 and its kin use their first sentinel, absent that None."""
        if self.tokenizer.mask_token_id is not None:
            return int(self.tokenizer.mask_token_id)
        sentinel = self.tokenizer.convert_tokens_to_ids("<extra_id_0>")
        return sentinel if sentinel not in (None, self.tokenizer.unk_token_id) else None

    def encode(self, texts: Sequence[str], pairs: Sequence[str] | None = None) -> list[Encoded]:
        return encode(self.tokenizer, texts, pairs, max_length=self.max_length)

    def batch(self, encoded: Sequence[Encoded], labels: Sequence[int] | None = None) -> Batch:
        """Pad and move to the model's device."""
        return collate(encoded, pad_id=self.tokenizer.pad_token_id, labels=labels).to(self.device)

    def embed(self, ids: Tensor) -> Tensor:
        """Word embeddings ``(rows, tokens, width)``: the table's output, before positions and LayerNorm."""
        return self.architecture.embeddings(ids)

    def start(self, batch: Batch) -> Tensor:
        """The tensor that noise is added to: the word embeddings of the batch."""
        return self.embed(batch.ids)

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
        sampler: Sampler | None = None,
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
            embeddings=start,
            sampler=sampler,
            sites=tuple(sites),
            copies=index,
            first_token=not (hidden_states or self.module.training),
            record=hidden_states,
        )
        inputs = {"input_ids": batch.ids, "attention_mask": batch.mask}
        if self._takes_type_ids:
            inputs["token_type_ids"] = batch.type_ids
        with tapped(self.architecture, tap), self.autocast():
            logits = self.module(**inputs).logits
        return Forward(logits.float(), tuple(tap.hidden))

    def gradient(
        self,
        batch: Batch,
        labels: Tensor | None = None,
        *,
        sampler: Sampler | None = None,
        sites: Sequence[Site] = (),
        draws: int = 1,
    ) -> tuple[Tensor, Tensor]:
        """Gradient of each row's own loss with respect to its embeddings, and the mean probabilities.

        The loss is −log of the probability of ``labels`` (of the model's own prediction if None),
        averaged over ``draws`` noise draws inside the log (RSMI Eq. 3). Returns ``(rows, tokens,
        width)`` and ``(rows, classes)``. No weight gradient is computed: only the path to the
        embeddings is differentiated.
        """
        with torch.enable_grad():
            start = self.start(batch).detach().requires_grad_(True)
            copies = None if draws == 1 else [row for row in range(len(batch)) for _ in range(draws)]
            forward = self.forward(batch, start=start, sampler=sampler, sites=sites, copies=copies)
            log_each = F.log_softmax(forward.logits, dim=-1).view(len(batch), draws, -1)
            log_mean = torch.logsumexp(log_each, dim=1) - math.log(draws)
            target = log_mean.argmax(dim=-1) if labels is None else labels
            # Rows do not interact, so the gradient of the sum holds each row's own gradient.
            loss = F.nll_loss(log_mean, target, reduction="sum")
            (gradient,) = torch.autograd.grad(loss, start)
        return gradient, log_mean.detach().exp()

    def _blocks_may_share(self, sites: Sequence[Site]) -> bool:
        """Whether copies of a row have a block in common before the first noise site."""
        return self.architecture.rows_may_repeat_between_blocks and bool(sites) and "embeddings" not in sites

    @contextmanager
    def in_float32(self) -> Iterator[None]:
        """Full precision inside, whatever the classifier is set to."""
        before, self.bf16 = self.bf16, False
        try:
            yield
        finally:
            self.bf16 = before

    def autocast(self) -> AbstractContextManager[Any]:
        """bfloat16 where asked for; float32 otherwise."""
        if not self.bf16 or torch.is_autocast_enabled(self.device.type):
            return nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)
