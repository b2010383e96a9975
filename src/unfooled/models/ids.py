"""What token ids tell a model besides their embeddings: where a text ends, and which place a token has.

RoBERTa and its kin count positions over ids that are not padding, decoders answer at the last id that is not
padding, encoder-decoders at the end token. With embeddings given in place of the table's output that is fixed
by the number of tokens, as long as no text can hold such an id itself. A statement about all embeddings near
those of a text (a certificate) needs that; where it fails, another word can move the answer at no distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from unfooled.models.encoding import Encoded, unknown_id
from unfooled.models.text import TextModel

TOLERANCE = 1e-3
"""Of logits that should be equal; they differ by rounding at most."""


def markers(model: TextModel) -> frozenset[int]:
    """Ids that may tell where a text ends: padding (of tokenizer and model) and its end."""
    config: object = model.module.config
    found = [model.tokenizer.pad_token_id, getattr(config, "pad_token_id", None)]
    if getattr(config, "is_encoder_decoder", False):
        end = getattr(config, "eos_token_id", None)
        found += end if isinstance(end, list) else [end]
    return frozenset(int(number) for number in found if number is not None)


def written_markers(model: TextModel) -> list[int]:
    """Markers that a text can hold: as its unknown words, or since they are ordinary tokens; none is well.

    Every special token that a text spells is read as the unknown token (``encode``), so none else can occur.
    """
    tokenizer = model.tokenizer
    special = set(tokenizer.all_special_ids)
    return sorted(
        number
        for number in markers(model)
        if number == unknown_id(tokenizer) or (number not in special and number < len(tokenizer))
    )


def ids_matter(model: TextModel, item: Encoded) -> bool:
    """Whether other words change the answer to the very same embeddings: tried with a few on one input."""
    tokenizer = model.tokenizer
    special = set(tokenizer.all_special_ids)
    ordinary = [number for number in range(len(tokenizer)) if number not in special]
    places = [place for place, word in enumerate(item.maskable) if word]
    unknown = unknown_id(tokenizer)
    changed = [
        _with(item, places, [unknown]),
        _with(item, places[-1:], [unknown]),
        _with(item, places, ordinary[:: max(1, len(ordinary) // 7)]),
        _with(item, places, ordinary[-1:]),
    ]
    with torch.inference_mode():
        batch = model.batch([item, *changed])
        embeddings = model.embed(batch.ids[:1]).expand(len(batch), -1, -1)
        logits = model.forward(batch, start=embeddings).logits
    scale = TOLERANCE * (1 + float(logits.abs().max()))
    return bool(((logits - logits[0]).abs() > scale).any())


def _with(item: Encoded, places: Sequence[int], numbers: Sequence[int]) -> Encoded:
    """The input with these places taken by these ids, over and over."""
    ids = list(item.ids)
    for count, place in enumerate(places):
        ids[place] = numbers[count % len(numbers)]
    return replace(item, ids=tuple(ids))
