"""Which tokens matter: the norm of the loss gradient at each word embedding (RSMI §2.2, InfoBERT §3.2).

Special tokens and padding are never candidates. Noise is on in the saliency pass as in any other.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from unfooled.hub.batches import map_by_length
from unfooled.models import EncodedInput, KeyedNoise, Model, Noise, mix

SALIENCY_STREAM = 0


def rank_tokens(gradient: Tensor, maskable: Tensor, count: int) -> list[list[int]]:
    """The up to ``count`` most salient maskable positions of each row, most salient first."""
    indices, chosen = _top(gradient, maskable, count)
    return [
        [position for position, own in zip(positions, flags, strict=True) if own]
        for positions, flags in zip(indices.tolist(), chosen.tolist(), strict=True)
    ]


def most_salient(gradient: Tensor, maskable: Tensor, count: int) -> Tensor:
    """The same positions as a mask, ``(rows, tokens)``."""
    indices, chosen = _top(gradient, maskable, count)
    return torch.zeros_like(maskable).scatter(1, indices, chosen)


def between_ranks(gradient: Tensor, candidates: Tensor, low: float, high: float) -> Tensor:
    """The candidates of each row with ascending ranks ⌈n·low⌉ … ⌈n·high⌉ − 1 of n, as a mask (InfoBERT)."""
    norms = gradient.float().norm(dim=-1).masked_fill(~candidates, torch.inf)
    order = norms.sort(dim=-1, stable=True).indices
    ranks = torch.empty_like(order).scatter_(
        1, order, torch.arange(order.shape[1]).expand_as(order).to(order)
    )
    count = candidates.sum(dim=1, keepdim=True).double()
    # 0.07·100 is a little more than 7 in binary, and means 7.
    first, past = ((count * share - 1e-9).ceil() for share in (low, high))
    return candidates & (ranks >= first) & (ranks < past)


def _top(gradient: Tensor, maskable: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The ``count`` leading positions of each row, and which of them may be masked."""
    scores = gradient.float().norm(dim=-1).masked_fill(~maskable, -1.0)
    # A stable sort: a confident model's gradients may all be zero, and the order of equals must not
    # depend on the padding.
    top = scores.sort(dim=-1, descending=True, stable=True)
    return top.indices[:, :count], top.values[:, :count] >= 0


def salient_positions(
    model: Model,
    encoded: Sequence[EncodedInput],
    keys: Sequence[int],
    *,
    noise: Noise,
    draws: int,
    count: int,
) -> list[list[int]]:
    """Rank the tokens of each input by saliency to the model's own prediction."""

    def ranks_of(chunk: list[int]) -> list[list[int]]:
        row_keys = [mix(keys[index], SALIENCY_STREAM, draw) for index in chunk for draw in range(draws)]
        batch = model.batch([encoded[index] for index in chunk])
        gradient, _ = model.gradient(
            batch, sampler=KeyedNoise(noise, row_keys), sites=noise.sites, draws=draws
        )
        return rank_tokens(gradient, batch.maskable, count)

    device = model.device
    lengths = [len(item) * draws for item in encoded]
    ranked = map_by_length(ranks_of, lengths, model.batch_size, device, parallel=model.parallel)
    torch.clear_autocast_cache()
    return ranked
