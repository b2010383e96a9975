"""How far answers are from each other: divergences of logits, softmax of the last dimension, mean over rows.

Every method that compares answers takes them from here.
"""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F


def kl(first: Tensor, second: Tensor) -> Tensor:
    """Mean KL(softmax ``first`` ‖ softmax ``second``); the gradient goes through both."""
    log_first, log_second = F.log_softmax(first, dim=-1), F.log_softmax(second, dim=-1)
    return (log_first.exp() * (log_first - log_second)).sum(dim=-1).mean()


def symmetric_kl(first: Tensor, second: Tensor, *, constant_targets: bool = False) -> Tensor:
    """KL in both directions, added.

    With ``constant_targets`` the answer that each direction compares with passes no gradient: each answer is
    drawn to the other one as it is.
    """
    if constant_targets:
        return kl(first.detach(), second) + kl(second.detach(), first)
    return kl(first, second) + kl(second, first)
