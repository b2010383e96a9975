"""The dropout of attention weights, set for all layers of an encoder whatever its family calls it.

The rate stands in the module that holds the projections to queries, keys and values: as a ``Dropout`` that is
called or whose rate is passed on, or as a number. It is found there, so that the dropout of hidden states,
which some of these modules have too, stays as it is.
"""

from __future__ import annotations

from typing import Any

from torch import nn

from unfooled.errors import UsageError

_PROJECTIONS = (
    ("query", "key", "value"),  # BERT, RoBERTa, ELECTRA, ALBERT
    ("q_lin", "k_lin", "v_lin"),  # DistilBERT
    ("q", "k", "v"),  # MPNet, T5
    ("q_proj", "k_proj", "v_proj"),  # BART
    ("query_proj", "key_proj", "value_proj"),  # DeBERTa-v2
    ("in_proj", "q_bias", "v_bias"),  # DeBERTa
)
_NAMES = ("attention_dropout", "dropout")
"""Of the attribute; the first that is there (ALBERT has a second one for hidden states)."""


def attentions(module: nn.Module) -> list[tuple[Any, str]]:
    """Each attention of the model and the attribute that holds its dropout; refused if none is found."""
    found = []
    for one in module.modules():
        if any(all(hasattr(one, name) for name in names) for names in _PROJECTIONS):
            own = [name for name in _NAMES if isinstance(getattr(one, name, None), nn.Dropout | float | int)]
            found += [(one, name) for name in own[:1]]
    if not found:
        kind = getattr(getattr(module, "config", None), "model_type", type(module).__name__)
        raise UsageError(
            f"attention_dropout: unfooled does not know where the encoder type '{kind}' keeps it. Leave the "
            "encoder's own with attention_dropout=null."
        )
    return found


def set_attention_dropout(module: nn.Module, rate: float) -> None:
    """Give every attention of the model this dropout rate in training."""
    for attention, name in attentions(module):
        dropout = getattr(attention, name)
        if isinstance(dropout, nn.Dropout):
            dropout.p = rate
        else:
            setattr(attention, name, rate)
