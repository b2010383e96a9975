"""The last block computed for the first token alone, where the classification head reads nothing else.

In BERT and its close relatives the head takes the last block's output at the first token. Keys and values are
needed of every token, but queries, attention output and feed-forward of one: the same logits for a sixth less
work with six blocks. Outside training only, and never when hidden states are asked for.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.nn import functional as F

FAMILIES = {"bert", "camembert", "electra", "roberta", "xlm-roberta"}


def suffices(model: Any) -> bool:
    """Whether this classifier's head reads the first token of the last block only."""
    config = model.config
    return (
        config.model_type in FAMILIES
        and type(model).__name__.endswith("ForSequenceClassification")
        and getattr(config, "_attn_implementation", "") == "sdpa"
        and not getattr(config, "is_decoder", False)
    )


def first_token_of(block: Any, hidden: Tensor, attention_mask: Tensor | None) -> Tensor:
    """The block's output at the first token, ``(rows, 1, width)``."""
    attention = block.attention.self
    first = hidden[:, :1]

    def heads(values: Tensor) -> Tensor:
        return values.view(*values.shape[:2], -1, attention.attention_head_size).transpose(1, 2)

    context = F.scaled_dot_product_attention(
        heads(attention.query(first)),
        heads(attention.key(hidden)),
        heads(attention.value(hidden)),
        attn_mask=None if attention_mask is None else attention_mask[..., :1, :],
        scale=attention.scaling,
    )
    context = context.transpose(1, 2).reshape(*first.shape[:2], -1)
    result: Tensor = block.feed_forward_chunk(block.attention.output(context, first))
    return result
