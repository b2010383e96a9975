"""What every certificate assumes of the base model, checked while it is sampled: one input, one answer.

The draws of an input come in batches, and equal draws are asked once. So an answer may depend neither on the
other rows of the batch (attention over the wrong dimension, batch statistics) nor on chance (dropout that is
on, an endpoint that samples): noisy copies that see each other average their noise away, and a random answer
that is counted many times is no sample. Both give false certificates, so both are refused.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from unfooled.errors import UsageError
from unfooled.models import BlackBox, EncodedInput, Model

FIRST_ROWS = 6
"""Rows of the first batch that are asked alone; of every new batch size it is one."""
ROUNDING = {torch.float64: (1e-6, 64), torch.float32: (1e-3, 64)}
HALF = 5e-2, 4
"""What batching may change by rounding: a share of how far the scores of a row lie apart, and units in the
last place of the scores themselves, which count where all of them are large."""

Ask = Callable[[Sequence[int]], Tensor]
"""Logits of these rows of a batch, asked together."""


class ModelCheck:
    """Asks rows of the first batch, and of every new batch size, once more: all together, and alone."""

    def __init__(self, model: Model) -> None:
        self._dtype = _precision(model)
        self._box = model if isinstance(model, BlackBox) else None
        self._sizes: set[int] = set()
        self._lock = threading.Lock()

    def __call__(self, logits: Tensor, ask: Ask) -> None:
        """Refuse the model if ``ask`` answers a row otherwise than ``logits``, ``(rows, classes)``, say."""
        size = len(logits)
        with self._lock:
            first, new = max(self._sizes, default=0) <= 1, size not in self._sizes
            self._sizes.add(size)
        # What is behind a black box may be random now and then, so one row of every batch is asked again.
        if not new and self._box is None:
            return
        usual = float(_spread(logits).median())
        if first and (moved := self._moved(logits, ask(range(size)), range(size), usual)):
            raise self._of_black_box("gave two different answers to the same text", moved) or UsageError(
                f"The model gave two different answers to the same inputs ({moved}): it is random by itself, "
                "for example by dropout that is on. A certificate counts the answers of a model that always "
                "answers alike. Put every module in evaluation mode, module.eval(), and take out what draws "
                "random numbers."
            )
        if size == 1:
            return
        # Of later sizes a row in the middle: what leaks from the rows before shows nothing in the first.
        spread_out = {size * part // FIRST_ROWS for part in range(FIRST_ROWS)} | {size - 1}
        for row in sorted(spread_out) if first else [size // 2]:
            if moved := self._moved(logits[row : row + 1], ask([row]), [row], usual):
                raise self._of_black_box(
                    "gave a text another answer in a batch than alone", moved
                ) or UsageError(
                    f"The model gives an input another answer in a batch than alone ({moved}): the rows of a "
                    "batch see each other, so noisy copies of an input average their noise away and a "
                    "certificate would be false. Attention needs batch_first=True, BatchNorm its running "
                    "statistics, and a function must call its modules in evaluation mode, module.eval()."
                )

    def twice(self, model: Model, item: EncodedInput) -> None:
        """Refuse a model that gives this input, without noise, two different answers."""

        parts = model.parts(item)[:1]

        def ask(rows: Sequence[int]) -> Tensor:
            own = [parts[row] for row in rows]
            return model.decisive(own, model.forward(model.batch(own)).logits)

        with torch.inference_mode():
            logits = ask(range(len(parts)))
            if bool(torch.isfinite(logits).all()):  # counting votes refuses the others, with the reason
                self(logits, ask)

    def _of_black_box(self, what: str, moved: str) -> UsageError | None:
        """What is told about a black box, whose modules nobody sees."""
        if self._box is None:
            return None
        return UsageError(
            f"{self._box.name} {what} ({moved}). It is random, or its answer depends on the texts it is "
            "asked together with, and a certificate of it would be false. Switch off sampling, dropout and "
            "batch statistics behind it; an endpoint must always give the same answer to a text."
        )

    def _moved(self, before: Tensor, after: Tensor, rows: Sequence[int], usual: float) -> str:
        """How far the scores of the worst row moved, in words; empty if rounding explains it."""
        before, after = before.detach().double(), after.detach().double()
        relative, units = ROUNDING.get(self._dtype, HALF)
        allowed = relative * _spread(before).clamp_min(usual)
        allowed += units * torch.finfo(self._dtype).eps * before.abs().amax(dim=1)
        moves = (before - after).abs().amax(dim=1)
        wrong = ~(moves <= allowed)  # NaN is wrong too
        if not bool(wrong.any()):
            return ""
        worst = int(torch.where(wrong, moves - allowed, -torch.inf).argmax())
        return (
            f"row {rows[worst]}: a score moved by {float(moves[worst]):.2g}, and rounding explains at most "
            f"{float(allowed[worst]):.1g}"
        )


def _spread(logits: Tensor) -> Tensor:
    """How far the scores of each row lie from their mean: a constant that all share decides nothing."""
    scores = logits.detach().double()
    return (scores - scores.mean(dim=1, keepdim=True)).abs().amax(dim=1)


def _precision(model: Model) -> torch.dtype:
    """The lowest precision that answers are computed in."""
    module: Any = getattr(model, "module", None)
    weights = {own.dtype for own in module.parameters()} if isinstance(module, nn.Module) else set()
    named = torch.bfloat16 if model.precision == "bf16" else getattr(torch, model.precision)
    floats = [kind for kind in {named, *weights} if kind.is_floating_point]
    return max(floats, key=lambda kind: torch.finfo(kind).eps)
