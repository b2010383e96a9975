"""Whether the parts of a Hugging Face folder fit together: configuration, weights, tokenizer.

``transformers`` fills gaps: a weight that is missing is drawn at random, a tokenizer without its vocabulary
reads every word as unknown. The model then answers, and the answers mean nothing. What does not fit is
refused here by the name of the file. Where training begins, and only there, the head may be missing or of
another number of classes: it is drawn afresh.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from unfooled.errors import UserError
from unfooled.hub.safetensors_files import COPY_AGAIN, INDEX, SINGLE, stored_weights

_UNUSED = re.compile(
    r"(^|\.)(pooler|cls|lm_head|qa_outputs|predictions|sop_classifier|mask_predictions|lm_predictions"
    r"|vocab_\w+|discriminator_predictions|generator_\w+|position_ids)(\.|$)"
)
"""Weights of pretraining that a fine-tuned classifier may carry along and does not use."""
_BLOCK = re.compile(r"(^|\.)(layers?|blocks?|h)\.\d+\.")
"""Part of the name of a weight in an encoder's block."""
_DEEPEST = 128
_PADDED_ROWS = 1024
"""Rows of an embedding table beyond the vocabulary that are usual: tables are padded for speed."""
_PROBE = "the film was good, bad 123 фильм хорош 电影 映画 영화 فيلم סרט ταινία फिल्म"
_PROBED = 16
"""Tokens of the text above that a classifier is tried on."""
_SHOWN = 4


def check_shapes(architecture: Any, config: Any, folder: Path, *, fresh_head: bool) -> None:
    """Refuse weights whose shapes are not those that ``config.json`` describes, before memory is taken."""
    import torch

    stored = {name: weight.shape for name, weight in stored_weights(folder).items()}
    depth = getattr(config, "num_hidden_layers", 0)
    if isinstance(depth, int) and depth > max(_DEEPEST, len(stored)):
        raise UserError(
            f"{folder / 'config.json'} describes {depth:,} layers, and {_file(folder)} holds {len(stored):,} "
            f"weights in all. {COPY_AGAIN}"
        )
    with torch.device("meta"):
        model = getattr(architecture, "from_config", architecture)(config)
    expected = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    if fresh_head:
        expected = {name: shape for name, shape in expected.items() if not _in_head(model, name)}
    prefix = f"{model.base_model_prefix}."
    wrong = []
    for name, shape in expected.items():
        found = stored.get(name, stored.get(name.removeprefix(prefix), stored.get(prefix + name)))
        if found is not None and found != shape:
            wrong.append(f"{name} {_shape(found)} instead of {_shape(shape)}")
    if wrong:
        raise UserError(
            f"{_file(folder)} does not fit {folder / 'config.json'}: {_list(wrong)}. {COPY_AGAIN}"
        )
    fresh = sum(math.prod(shape) for name, shape in expected.items() if name not in stored)
    if fresh > 10**8 + 2 * sum(map(math.prod, stored.values())):
        raise UserError(
            f"{folder / 'config.json'} describes {fresh:,} numbers that {_file(folder)} does not hold. "
            f"{COPY_AGAIN}"
        )


def check_loaded(
    model: Any, told: Mapping[str, Collection[Any]], location: str | Path, *, fresh_head: bool, cut: bool
) -> None:
    """Refuse weights that were missing, not expected, or are no numbers.

    ``told`` is what ``from_pretrained`` says of the loading, tied and ignored weights left out. ``cut``: the
    model was opened with fewer layers than are stored.
    """
    file = _file(location)
    bare = model.base_model is model
    missing = sorted(told["missing_keys"])
    if bare or fresh_head:
        missing = [name for name in missing if not ("pooler" in name if bare else _in_head(model, name))]
    classifies = type(model).__name__.endswith("ForSequenceClassification")
    if missing and classifies and all(_in_head(model, name) for name in missing):
        raise UserError(
            f"{file} has no {_list(missing)}: it holds an encoder without its classification head, which is "
            "not a classifier. If it was one, copy the whole folder again. To make one, train it: unfooled "
            f"train --encoder {location}."
        )
    if missing:
        raise UserError(f"{file} lacks {_count(missing)} ({_list(missing)}). {COPY_AGAIN}")
    unknown = sorted(name for name in told["unexpected_keys"] if not _UNUSED.search(name))
    if bare or fresh_head:  # weights of other heads than this one's are not used
        unknown = [name for name in unknown if _BLOCK.search(name)]
    if cut:
        unknown = [name for name in unknown if not _BLOCK.search(name)]
    if unknown:
        raise UserError(
            f"{file} holds {_count(unknown)} for which config.json has no place ({_list(unknown)}). "
            f"{COPY_AGAIN}"
        )
    broken = [name for name, value in model.state_dict().items() if not _finite(value)]
    if broken:
        raise UserError(
            f"{file} holds values that are not finite numbers in {_list(broken)}. Copy the whole folder "
            "again, or train again with a lower learning rate."
        )


def check_tokenizer_files(folder: Path) -> None:
    """Refuse a folder without the vocabulary of its tokenizer."""
    names = ("tokenizer.json", "vocab.txt", "vocab.json", "tokenizer.model", "spiece.model", "spm.model")
    more = ("sentencepiece.bpe.model", "prophetnet.tokenizer", "tekken.json")
    if not any((folder / name).is_file() for name in (*names, *more)):
        raise UserError(
            f"{folder / 'tokenizer.json'} is missing: without the vocabulary every word would be unknown. "
            "Copy the whole folder again, or save the tokenizer there with tokenizer.save_pretrained."
        )


def check_tokenizer(model: Any, tokenizer: Any, location: str | Path) -> None:
    """Refuse a tokenizer that is not the model's: its vocabulary, its special tokens."""
    file = Path(location) / "tokenizer.json" if Path(location).is_dir() else f"The tokenizer of {location}"
    remedy = "Copy the tokenizer's files again from where the model was made."
    table = model.get_input_embeddings().weight
    rows, vocabulary = int(table.shape[0]), tokenizer.get_vocab()
    beyond = sorted((number, token) for token, number in vocabulary.items() if number >= rows)
    if beyond:
        tokens = _list([f"{token!r} is {number}" for number, token in beyond])
        raise UserError(
            f"{file} does not fit the model, whose embeddings have {rows:,} rows: {tokens}. {remedy}"
        )
    if rows - len(vocabulary) > max(_PADDED_ROWS, rows // 20):
        raise UserError(
            f"{file} has {len(vocabulary):,} tokens, and the model's embeddings have {rows:,} rows. {remedy}"
        )
    pad = getattr(model.config, "pad_token_id", None)
    if pad is not None and tokenizer.pad_token_id is not None and pad != tokenizer.pad_token_id:
        raise UserError(
            f"{file} pads with id {tokenizer.pad_token_id} ({tokenizer.pad_token!r}), and config.json says "
            f"pad_token_id {pad}. {remedy}"
        )
    ids = tokenizer(_PROBE, add_special_tokens=False, verbose=False)["input_ids"]
    if all(number == tokenizer.unk_token_id for number in ids):
        raise UserError(
            f"{file} reads every word as unknown: its vocabulary has {len(vocabulary):,} tokens. {remedy}"
        )


def check_answer(model: Any, tokenizer: Any, location: str | Path) -> None:
    """Refuse a classifier whose labels are not named one by one, or whose answer to a text is not numbers."""
    import torch

    named, count = model.config.id2label, model.config.num_labels
    if sorted(named) != list(range(count)) or len(set(map(str, named.values()))) != count:
        file = (
            Path(location) / "config.json" if Path(location).is_dir() else f"The configuration of {location}"
        )
        raise UserError(
            f"{file}: id2label must give each class from 0 to {count - 1} a name of its own, not {named}. "
            f"{COPY_AGAIN}"
        )
    text = tokenizer(_PROBE, truncation=True, max_length=_PROBED, return_tensors="pt", verbose=False)
    names = [name for name in ("input_ids", "attention_mask") if name in text]
    with torch.inference_mode():
        logits = model.eval()(**{name: text[name] for name in names}).logits
    if tuple(logits.shape) != (1, model.config.num_labels) or not bool(torch.isfinite(logits).all()):
        folder = Path(location)
        raise UserError(
            f"The model in {location} gives no finite score per class: its weights do not fit "
            f"{folder / 'config.json' if folder.is_dir() else 'its configuration'}. {COPY_AGAIN}"
        )


def _in_head(model: Any, name: str) -> bool:
    """Whether a weight stands after the encoder, or is the pooler that some encoders come without."""
    return not name.startswith(f"{model.base_model_prefix}.") or "pooler" in name


def _file(location: str | Path) -> str:
    """The file of weights; several are named by their index."""
    folder = Path(location)
    if not folder.is_dir():
        return str(location)
    return str(folder / (SINGLE if (folder / SINGLE).is_file() else INDEX))


def _finite(value: Any) -> bool:
    import torch

    return not value.is_floating_point() or bool(torch.isfinite(value.sum(dtype=torch.float64)))


def _shape(shape: Iterable[int]) -> str:
    return "×".join(map(str, shape)) or "scalar"


def _count(names: Collection[str]) -> str:
    return "one weight" if len(names) == 1 else f"{len(names):,} weights"


def _list(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
