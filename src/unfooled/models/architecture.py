"""Where a Hugging Face encoder keeps its embedding table and its blocks.

One place knows the differences between BERT, RoBERTa, DistilBERT, ELECTRA, ALBERT, DeBERTa, T5 and
their relatives; the rest of the package speaks of sites only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from torch import nn

from unfooled.errors import UsageError
from unfooled.models import first_token

# Families whose blocks take nothing with a batch dimension but the hidden states and the arguments
# that ``taps`` copies, so that the rows of a batch may be repeated between two blocks.
_BERT_LIKE = {"albert", "bert", "distilbert", "electra"}
_ROBERTA_LIKE = {"camembert", "roberta", "xlm-roberta"}
"""Families that know a token's place by an absolute number alone; RoBERTa counts on from its padding id."""
_REPEATABLE = {"albert", "bert", "camembert", "distilbert", "electra", "mpnet", "roberta", "xlm-roberta"}

Summary = Literal["first", "last", "mean"]
"""The first token (``[CLS]``), the last one that is not padding, or the mean of all."""


@dataclass(frozen=True)
class Architecture:
    """The modules that carry the noise sites of one model."""

    base: nn.Module
    """The encoder, or encoder and decoder, without the classification head."""
    embeddings: nn.Module
    """Word-embedding table of the encoder."""
    decoder_embeddings: nn.Module | None
    """Word-embedding table of the decoder, where the decoder reads the same text (T5)."""
    blocks: tuple[nn.Module, ...]
    """Distinct block modules in the order of their first call."""
    depth: int
    """How many times a block is run (ALBERT runs one module many times)."""
    rows_may_repeat_between_blocks: bool
    first_token_suffices: bool
    """The head reads the first token of the last block only."""
    summary: Summary
    """Which tokens of the last layer the head reads, before any pooler."""
    first_position: int | None
    """The position number of the first token, where such numbers alone tell the places; None: they do not."""


def describe(model: Any) -> Architecture:
    """Find the embedding table and the blocks of a sequence classifier."""
    config = model.config
    depth = int(getattr(config, "num_hidden_layers", 0) or getattr(config, "num_layers", 0))
    decoder_embeddings: nn.Module | None = None
    if getattr(config, "is_encoder_decoder", False):
        encoder = model.get_encoder() if hasattr(model, "get_encoder") else model.base_model.encoder
        decoder = model.get_decoder() if hasattr(model, "get_decoder") else model.base_model.decoder
        embeddings = encoder.get_input_embeddings()
        decoder_embeddings = decoder.get_input_embeddings()
        root = encoder
    else:
        embeddings = model.get_input_embeddings()
        root = model.base_model
    blocks = _find_blocks(root, depth)
    if depth < 1 or not blocks or embeddings is None:
        raise UsageError(
            f"The encoder type '{config.model_type}' has no embedding table and block list that unfooled "
            "can find. Use an encoder such as BERT, RoBERTa, DistilBERT, ELECTRA, ALBERT, DeBERTa or T5."
        )
    return Architecture(
        base=model.base_model,
        embeddings=embeddings,
        decoder_embeddings=decoder_embeddings,
        blocks=blocks,
        depth=depth,
        rows_may_repeat_between_blocks=config.model_type in _REPEATABLE,
        first_token_suffices=first_token.suffices(model),
        summary=_summary(model),
        first_position=_first_position(config),
    )


def _summary(model: Any) -> Summary:
    # T5 and BART read the end-of-text token of the decoder; decoders with a ``score`` head their last token.
    if getattr(model.config, "is_encoder_decoder", False) or hasattr(model, "score"):
        return "last"
    return "mean" if getattr(model.config, "classifier_pooling", "cls") == "mean" else "first"  # ModernBERT


def _first_position(config: Any) -> int | None:
    if getattr(config, "position_embedding_type", "absolute") != "absolute":
        return None
    if config.model_type in _BERT_LIKE:
        return 0
    return int(config.pad_token_id) + 1 if config.model_type in _ROBERTA_LIKE else None


def _find_blocks(root: nn.Module, depth: int) -> tuple[nn.Module, ...]:
    for name, module in root.named_modules():
        if not isinstance(module, nn.ModuleList):
            continue
        # ALBERT: a list of groups, each run several times.
        if name.endswith("albert_layer_groups") or len(module) == depth:
            return tuple(module)
    return ()
