"""Fitting a masked language model to a task's own text, from the default sentence encoder.

No English masked language model is on the package index, so BERT's head (dense, GELU, LayerNorm,
then the word embeddings with a bias) is fitted on the encoder, together with its top blocks. Unlike
BERT's pre-training, only whole single-piece words are masked and always by the mask token: that is
the one question asked of it later. ``masked_lm.fit_masked_lm`` caches the result.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unfooled.assets import digest
from unfooled.errors import UsageError
from unfooled.hub.batches import length_sorted_chunks, padded_inputs
from unfooled.hub.devices import device_named
from unfooled.hub.pretrained import open_config, open_model, open_tokenizer
from unfooled.lexicon.masked_lm import logits_at, whole_words
from unfooled.settings import LARGEST_SEED, setting

if TYPE_CHECKING:
    import torch

VERSION = 2
"""Part of the cache key: raise it when the same texts and settings give another model."""

OnStep = Callable[[int, int], None]
"""Called with the steps done and the steps in all."""

_WARM_UP = 0.06
_WEIGHT_DECAY = 0.01


@dataclass(frozen=True)
class FitSettings:
    """How the masked language model is fitted."""

    epochs: int = setting(2, "passes over the text", at_least=1, at_most=1000)
    seed: int = setting(
        0,
        "decides the head's first weights, the order and the masked words",
        at_least=0,
        at_most=LARGEST_SEED,
    )
    mask_rate: float = setting(
        0.15, "share of the maskable words that are masked", at_least=0.01, at_most=0.9
    )
    blocks: int = setting(6, "encoder blocks from the top that are trained too", at_least=0)
    head_rate: float = setting(2e-3, "peak learning rate of the head", at_least=0.0)
    block_rate: float = setting(4e-4, "peak learning rate of the blocks", at_least=0.0)
    batch_tokens: int = setting(256, "tokens in a batch, padding included", at_least=8)
    piece_tokens: int = setting(64, "longer texts are cut into pieces of this many tokens", at_least=8)
    max_tokens: int = setting(150_000, "tokens read in a pass; more text is sampled down", at_least=1)


@dataclass(frozen=True)
class FitPiece:
    """A text, or a part of a long one, as token ids with the positions that may be masked."""

    ids: tuple[int, ...]
    maskable: tuple[int, ...]


def fit(
    texts: Sequence[str],
    settings: FitSettings,
    encoder: Path,
    *,
    device: str = "auto",
    progress: OnStep | None = None,
) -> tuple[Any, Any]:
    """The fitted model and its tokenizer; the same on the same machine for the same arguments."""
    import torch

    where = device_named(device)
    kind = open_config(encoder).model_type
    if kind != "bert":
        raise UsageError(f"A masked language model is fitted on a BERT encoder; {encoder} holds a {kind}.")
    tokenizer = open_tokenizer(encoder)
    pieces = sample(pieces_of(texts, tokenizer, settings.piece_tokens), settings)
    if not pieces:
        raise UsageError("The texts hold no words to learn from. Give the sentences of the task.")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        model = open_model("BertForMaskedLM", encoder, fresh_head=True)
    # In evaluation mode: over a few passes dropout only slows the fit, and without it nothing is random here.
    model = model.to(where).eval()
    _start_from_frequencies(model, pieces)
    steps = list(_steps(pieces, settings))
    optimizer, schedule = _optimizer(model, settings, len(steps))
    for number, batch in enumerate(steps, start=1):
        masked, rows, positions, targets = _mask(batch, settings, tokenizer.mask_token_id, number)
        inputs = padded_inputs(masked, tokenizer.pad_token_id, where)
        logits = logits_at(model, inputs, rows.to(where), positions.to(where))
        loss = torch.nn.functional.cross_entropy(logits, targets.to(where))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)
        if progress is not None:
            progress(number, len(steps))
    return model.cpu(), tokenizer


def fingerprint(texts: Sequence[str], settings: FitSettings, encoder: Path) -> str:
    """Changes with the texts, the settings, the encoder's files and the way of fitting."""
    files = {
        path.name: digest.of_file(path)
        for path in sorted(encoder.glob("*"))
        if path.suffix in {".json", ".safetensors", ".txt"}
    }
    known = hashlib.sha256(json.dumps([VERSION, asdict(settings), files]).encode())
    for text in texts:
        known.update(json.dumps(text).encode() + b"\n")
    return known.hexdigest()[:16]


def pieces_of(texts: Sequence[str], tokenizer: Any, longest: int) -> list[FitPiece]:
    """Texts as token ids, long ones cut; maskable are the words that are one piece of the vocabulary."""
    if not texts:
        return []
    words = whole_words(tokenizer)
    special = len(tokenizer("")["input_ids"])
    result = tokenizer(
        list(texts),
        truncation=True,
        max_length=max(longest, special + 1),
        return_overflowing_tokens=True,
        split_special_tokens=True,
    )
    pieces = []
    for encoding in result.encodings:
        parts: dict[int, int] = {}
        for word in encoding.word_ids:
            if word is not None:
                parts[word] = parts.get(word, 0) + 1
        maskable = tuple(
            position
            for position, (id, word) in enumerate(zip(encoding.ids, encoding.word_ids, strict=True))
            if word is not None and parts[word] == 1 and id in words
        )
        if maskable:
            pieces.append(FitPiece(tuple(encoding.ids), maskable))
    return pieces


def sample(pieces: Sequence[FitPiece], settings: FitSettings) -> list[FitPiece]:
    """Pieces in a random order, as many as ``max_tokens`` allows."""
    chosen: list[FitPiece] = []
    tokens = 0
    for piece in random.Random(f"{settings.seed} sample").sample(pieces, len(pieces)):
        tokens += len(piece.ids)
        if chosen and tokens > settings.max_tokens:
            break
        chosen.append(piece)
    return chosen


def _steps(pieces: Sequence[FitPiece], settings: FitSettings) -> Iterator[list[FitPiece]]:
    """Batches of similar length in a random order, over and over; other neighbours in every pass."""
    for epoch in range(settings.epochs):
        chooser = random.Random(f"{settings.seed} order {epoch}")
        shuffled = chooser.sample(pieces, len(pieces))
        batches = [
            [shuffled[i] for i in batch]
            for batch in length_sorted_chunks([len(piece.ids) for piece in shuffled], settings.batch_tokens)
        ]
        chooser.shuffle(batches)
        yield from batches


def _mask(
    batch: Sequence[FitPiece], settings: FitSettings, mask_id: int, step: int
) -> tuple[list[list[int]], torch.Tensor, torch.Tensor, torch.Tensor]:
    """Ids with some words masked, at least one per piece; where they stood and what they were."""
    import torch

    chooser = random.Random(f"{settings.seed} mask {step}")
    masked, places = [], []
    for row, piece in enumerate(batch):
        ids = list(piece.ids)
        count = max(1, round(settings.mask_rate * len(piece.maskable)))
        for position in sorted(chooser.sample(piece.maskable, count)):
            places.append((row, position, ids[position]))
            ids[position] = mask_id
        masked.append(ids)
    rows, positions, targets = torch.tensor(places).unbind(1)
    return masked, rows, positions, targets


def _start_from_frequencies(model: Any, pieces: Sequence[FitPiece]) -> None:
    """The head's bias begins as the log frequency of each piece in the text."""
    import torch

    counts = torch.full((model.config.vocab_size,), 0.1)
    ids = torch.tensor([piece.ids[position] for piece in pieces for position in piece.maskable])
    counts += torch.bincount(ids, minlength=len(counts))
    with torch.no_grad():
        model.get_output_embeddings().bias.copy_((counts / counts.sum()).log())


def _optimizer(model: Any, settings: FitSettings, steps: int) -> tuple[Any, Any]:
    """AdamW on the head and the top blocks, the rest frozen; a short warm-up, then down to nothing."""
    import torch

    model.requires_grad_(False)
    blocks = model.bert.encoder.layer[max(0, len(model.bert.encoder.layer) - settings.blocks) :]
    table = model.get_input_embeddings().weight
    head = [parameter for parameter in model.cls.parameters() if parameter is not table]
    lower = list(blocks.parameters())
    for parameter in (*head, *lower):
        parameter.requires_grad_(True)
    groups = [{"params": head, "lr": settings.head_rate}, {"params": lower, "lr": settings.block_rate}]
    optimizer = torch.optim.AdamW([group for group in groups if group["params"]], weight_decay=_WEIGHT_DECAY)
    warm = max(1, round(_WARM_UP * steps))
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, (steps - step) / max(1, steps - warm))
    )
    return optimizer, rate
