"""From start and end logits to spans: the best ones of a window, and those of all windows side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from unfooled.models.model import Compared
from unfooled.models.windows import AnswerSpan, Window

NO_SPAN: AnswerSpan = (0, 0)
"""Stands for no answer."""
SHUT = -1e4
"""The logit of a position that no answer may begin or end at; finite, so that divergences stay numbers."""
BEST = 20
"""Spans that are kept of each window."""


@dataclass(frozen=True)
class SpanScores:
    """What one pass says of one window: its best spans with start + end logit, and that of no answer."""

    spans: Mapping[AnswerSpan, float]
    null: float


def best_spans(windows: Sequence[Window], logits: Tensor, *, longest: int) -> list[SpanScores]:
    """Of each row of logits ``(rows, 2, tokens)``: the best spans of at most ``longest`` tokens."""
    starts, ends = logits[:, 0].float(), logits[:, 1].float()
    rows, tokens = starts.shape
    reach = min(longest, tokens)
    shut = logits.new_full((rows, reach - 1), 2 * SHUT, dtype=torch.float32)
    # [row, first, n]: the end logit n tokens after the first token.
    later = torch.cat([ends, shut], dim=1).unfold(1, reach, 1)
    scores = (starts.unsqueeze(2) + later).flatten(1)
    top = scores.topk(min(BEST * 2, scores.shape[1]), dim=1)
    values, places = top.values.cpu().tolist(), top.indices.cpu().tolist()
    nulls = torch.tensor([window.null for window in windows], device=logits.device)
    every = torch.arange(rows, device=logits.device)
    no_answer = (starts[every, nulls] + ends[every, nulls]).cpu().tolist()
    return [
        SpanScores(_spans(window, own, at, reach), null)
        for window, own, at, null in zip(windows, values, places, no_answer, strict=True)
    ]


def _spans(
    window: Window, values: Sequence[float], places: Sequence[int], reach: int
) -> dict[AnswerSpan, float]:
    found: dict[AnswerSpan, float] = {}
    for value, place in zip(values, places, strict=True):
        first, last = place // reach, place // reach + place % reach
        if value <= SHUT / 2 or window.null in (first, last) or len(found) == BEST:
            continue
        span = window.span(first, last)
        if span[1] > span[0]:  # tokens that came from no character are no answer
            found.setdefault(span, value)
    return found


def compared_spans(passes: Sequence[Sequence[SpanScores]], *, unanswerable: bool) -> Compared:
    """One row per pass over all spans that some pass keeps; a span is as good as in its best window.

    No answer is as good as in its worst window: a part of the context may well hold no answer. What a pass
    does not keep counts as its worst.
    """
    merged = [_over_windows(windows) for windows in passes]
    spans = list(dict.fromkeys(span for own, _ in merged for span in own))
    rows = []
    for own, null in merged:
        worst = min(own.values(), default=SHUT)
        row = [own.get(span, worst - 1e-6) for span in spans]
        rows.append([*row, null] if unanswerable or not spans else row)
    return Compared(rows, tuple(spans) if spans and not unanswerable else (*spans, NO_SPAN))


def _over_windows(windows: Sequence[SpanScores]) -> tuple[dict[AnswerSpan, float], float]:
    found: dict[AnswerSpan, float] = {}
    for window in windows:
        for span, value in window.spans.items():
            found[span] = max(value, found.get(span, value))
    return found, min(window.null for window in windows)
