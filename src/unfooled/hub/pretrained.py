"""Opening Hugging Face models and tokenizers: safetensors only, no remote code, no pickles, no chatter.

Everything that loads weights (runs, encoders, sentence encoders, masked language models, victims) does it
here. torch and transformers are imported when something is opened, not before.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from unfooled import assets
from unfooled.errors import UserError
from unfooled.hub.fits import check_answer, check_loaded, check_shapes, check_tokenizer, check_tokenizer_files

Head = Literal[
    "AutoModel",
    "AutoModelForMaskedLM",
    "AutoModelForQuestionAnswering",
    "AutoModelForSequenceClassification",
    "BertForMaskedLM",
]
"""The class of ``transformers`` that opens the weights."""

UNLIMITED = 1_000_000
"""Longest input of a model without a table of positions."""


def location_of(name: str) -> str:
    """An asset's folder if ``name`` is an asset; otherwise ``name``, a folder or hub id."""
    return str(assets.path(name)) if name in assets.names() else name


def open_model(head: Head, location: str | Path, *, fresh_head: bool = False, **config_changes: Any) -> Any:
    """A float32 model from safetensors; ``config_changes`` are set on its configuration first.

    Weights that do not fit are refused. With ``fresh_head``, for training, a head may be missing or have
    another number of classes: it is drawn at random.
    """
    import torch
    import transformers

    with _explained("model", location):
        config = open_config(location)
        deepest = getattr(config, "num_hidden_layers", 0)
        for name, value in config_changes.items():
            setattr(config, name, value)
        architecture = getattr(transformers, head)
        if os.path.isdir(location):
            check_shapes(architecture, config, Path(location), fresh_head=fresh_head)
        model, told = architecture.from_pretrained(
            str(location),
            config=config,
            use_safetensors=True,
            trust_remote_code=False,
            dtype=torch.float32,
            ignore_mismatched_sizes=fresh_head,
            output_loading_info=True,
        )
        cut = getattr(config, "num_hidden_layers", 0) < deepest
        check_loaded(model, told, location, fresh_head=fresh_head, cut=cut)
    return model


def open_tokenizer(location: str | Path) -> Any:
    """The tokenizer saved beside a model."""
    from transformers import AutoTokenizer

    with _explained("tokenizer", location):
        if os.path.isdir(location):
            check_tokenizer_files(Path(location))
        return AutoTokenizer.from_pretrained(str(location), trust_remote_code=False)


def open_pair(
    head: Head, location: str | Path, *, fresh_head: bool = False, **config_changes: Any
) -> tuple[Any, Any]:
    """:func:`open_model` and its tokenizer, which must fit."""
    model = open_model(head, location, fresh_head=fresh_head, **config_changes)
    tokenizer = open_tokenizer(location)
    with _explained("tokenizer", location):
        check_tokenizer(model, tokenizer, location)
    if head == "AutoModelForSequenceClassification" and not fresh_head:
        with _explained("model", location):
            check_answer(model, tokenizer, location)
    return model, tokenizer


def open_config(location: str | Path) -> Any:
    """The configuration alone: what kind of model it is, without its weights."""
    from transformers import AutoConfig

    with _explained("configuration", location):
        return AutoConfig.from_pretrained(str(location), trust_remote_code=False)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the load reports and bars of transformers and datasets out of our output; errors still show."""
    from transformers.utils import logging as reports

    datasets = logging.getLogger("datasets")
    verbosity, bars, level = reports.get_verbosity(), reports.is_progress_bar_enabled(), datasets.level
    reports.set_verbosity_error()
    reports.disable_progress_bar()
    datasets.setLevel(logging.ERROR)
    try:
        yield
    finally:
        reports.set_verbosity(verbosity)
        datasets.setLevel(level)
        if bars:
            reports.enable_progress_bar()


def position_limit(model: Any) -> int:
    """The longest input the position table holds; RoBERTa and its kin count from past the padding id."""
    positions = getattr(model.config, "max_position_embeddings", None)
    if not positions or positions < 0 or getattr(model.config, "position_biased_input", True) is False:
        return UNLIMITED
    tables = [module for name, module in model.named_modules() if name.endswith("position_embeddings")]
    padding = [table.padding_idx for table in tables if getattr(table, "padding_idx", None) is not None]
    return int(positions) - (padding[0] + 1 if padding else 0)


def longest_input(model: Any, tokenizer: Any) -> int:
    """The most tokens that both the position table and the tokenizer allow, special tokens included."""
    return min(position_limit(model), int(tokenizer.model_max_length))


@contextmanager
def _explained(what: str, location: str | Path) -> Iterator[None]:
    """Quiet inside; a failure says what could not be opened and what is needed."""
    try:
        with quiet():
            yield
    except UserError:
        raise
    except Exception as error:  # transformers and tokenizers raise whatever a damaged file leads to
        lines = str(error).strip().splitlines()
        reason = lines[0].rstrip(" .") if lines else type(error).__name__
        kind = "a folder" if os.path.isdir(location) else "an asset, a folder or a reachable hub model"
        raise UserError(
            f"Cannot load the {what} from '{location}': {reason}. Name {kind} that holds a Hugging Face "
            "model with safetensors weights and a fast tokenizer."
        ) from error
