"""Two bounds of mutual information, as InfoBERT uses them (Wang et al. 2021).

:func:`spread` bounds I(X; T) from above (CLUB, Cheng et al. 2020; the paper's Eq. 4 and 11). With p(t | x) a
Gaussian of variance 1 around the feature t, the bound is the mean of ½‖t_i − t_j‖² over pairs of features: to
lower it is to draw the features together.

:func:`within_input` and :func:`across_batch` bound I(T; Z) from below (InfoNCE, van den Oord et al. 2018;
Eq. 10). A critic scores how well a local feature t goes with a global one z. The estimate is the mean of
g(t, z) − log Σ exp g(t', z) + log m over m candidates t', t among them. It is at most log m. Eq. 10 does not
have t among the candidates; then nothing limits g(t, z), and training on it does not end.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Score = Callable[[Tensor, Tensor], Tensor]
"""g: features ``(…, width)`` and sentences that broadcast against them, to ``(…)``."""
HIDDEN = 300
_ABSENT = -1e4
"""The score of what is no candidate: scores are at least 0, so that it weighs nothing."""


def spread(features: Tensor, present: Tensor) -> Tensor:
    """Mean ½‖t_i − t_j‖² of the features at ``present`` tokens, with a random j.

    ``features``: ``(rows, tokens, width)``; ``present``: ``(rows, tokens)``. j may be i.
    """
    own = features.flatten(0, 1).index_select(0, present.flatten().nonzero().squeeze(1)).float()
    other = own.index_select(0, torch.randint(len(own), (len(own),), device=own.device))
    return (own - other).square().sum(dim=1).mean() / 2


class Critic(nn.Module):
    """g(t, z): two layers on both features side by side, 2d → 300 → 1, at least 0 (Softplus). In float32."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.both = nn.Linear(2 * width, HIDDEN)
        self.score = nn.Linear(HIDDEN, 1)

    def forward(self, local: Tensor, sentence: Tensor) -> Tensor:
        of_local, of_sentence = self.both.weight.chunk(2, dim=1)
        with torch.autocast(local.device.type, enabled=False):
            # The layer on [t; z] is the sum of a layer on t and one on z: each feature is multiplied once.
            hidden = F.linear(local.float(), of_local)
            hidden = hidden + F.linear(sentence.float(), of_sentence, self.both.bias)
            found: Tensor = F.softplus(self.score(F.relu(hidden))).squeeze(-1)
        return found


def within_input(
    critic: Score, features: Tensor, sentences: Tensor, anchored: Tensor, others: Tensor
) -> Tensor:
    """The estimate whose other candidates are the features ``others`` of the same input (the paper's).

    ``features``: ``(rows, tokens, width)``; ``sentences``: ``(rows, width)``; ``anchored``, ``others``:
    ``(rows, tokens)``. The mean over all anchored features; 0 if there is none.
    """
    scores = critic(features, sentences.unsqueeze(1))
    rest = scores.masked_fill(~others, _ABSENT).logsumexp(dim=1, keepdim=True)
    candidates = 1 + others.sum(dim=1, keepdim=True)
    each = scores - torch.logaddexp(scores, rest) + candidates.log()
    return (each * anchored).sum() / anchored.sum().clamp(min=1)


def across_batch(critic: Score, features: Tensor, sentences: Tensor, anchored: Tensor, chunk: int) -> Tensor:
    """The estimate whose candidates are anchored features of all inputs (the authors' code).

    They are shuffled and cut into chunks; in each, every sentence is held against all features. The mean over
    all anchored features; 0 if there is none.
    """
    rows, tokens = anchored.nonzero(as_tuple=True)
    if not len(rows):
        # All weights have a gradient all the same: in distributed training, other processes wait for it.
        return 0 * critic(features[:1, 0], sentences[:1]).sum()
    total = features.new_zeros((), dtype=torch.float32)
    for own in torch.randperm(len(rows), device=rows.device).split(chunk):
        local = features[rows[own], tokens[own]]
        scores = critic(local.unsqueeze(0), sentences[rows[own]].unsqueeze(1))
        total = total + (scores.diagonal() - scores.logsumexp(dim=1) + math.log(len(own))).sum()
    return total / len(rows)
