"""Tiny tokenizers and randomly initialised classifiers of every encoder family, built in code.

>>> classifier = tiny_classifier("bert")
>>> classifier.forward(classifier.batch(classifier.encode(["a fine film"]))).logits.shape
torch.Size([1, 3])
"""

from __future__ import annotations

import random
import string
from collections.abc import Sequence
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import (
    AlbertConfig,
    AutoModelForSequenceClassification,
    BertConfig,
    DebertaV2Config,
    DistilBertConfig,
    ElectraConfig,
    GPT2Config,
    MPNetConfig,
    PreTrainedTokenizerFast,
    RobertaConfig,
    T5Config,
    XLMRobertaConfig,
)

from unfooled.models import TextModel

_KNOWN = (
    "a an the this that it is was not no and but or very too so really never film movie story plot actor "
    "scene score ending director fine good great gorgeous witty funny warm lovely moving bold clever bad "
    "poor dull awful boring tired flat weak cold silly long short new old first last night day man woman "
    "people world life love war time way more most than of in on for with from about into over"
)
WORDS = _KNOWN.split()
"""The words the tokenizers know whole; other words fall apart into letters."""

SIZES: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
    "type_vocab_size": 2,
}


def bert_tokenizer() -> PreTrainedTokenizerFast:
    """WordPiece with BERT's special tokens."""
    names = {
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    return _tokenizer(names, "[CLS]:0 $A:0 [SEP]:0", "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1")


def roberta_tokenizer() -> PreTrainedTokenizerFast:
    """RoBERTa's special tokens: padding is id 1, two separators between a pair."""
    names = {
        "cls_token": "<s>",
        "pad_token": "<pad>",
        "sep_token": "</s>",
        "unk_token": "<unk>",
        "mask_token": "<mask>",
    }
    return _tokenizer(names, "<s>:0 $A:0 </s>:0", "<s>:0 $A:0 </s>:0 </s>:0 $B:0 </s>:0")


def t5_tokenizer(*, sentinel: bool = True) -> PreTrainedTokenizerFast:
    """T5's special tokens: no mask token, the first sentinel stands in for it."""
    names = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    extra = ["<extra_id_0>"] if sentinel else []
    return _tokenizer(names, "$A:0 </s>:0", "$A:0 </s>:0 $B:0 </s>:0", extra)


def _tokenizer(
    names: dict[str, str], single: str, pair: str, extra: list[str] | None = None
) -> PreTrainedTokenizerFast:
    special = [*names.values(), *(extra or [])]
    letters = string.ascii_lowercase + string.digits
    pieces = [*special, *string.punctuation, *letters, *(f"##{letter}" for letter in letters), *WORDS]
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    backend = Tokenizer(models.WordPiece(vocabulary, unk_token=names["unk_token"]))
    backend.normalizer = normalizers.BertNormalizer()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    backend.post_processor = processors.TemplateProcessing(
        single=single, pair=pair, special_tokens=[(token, vocabulary[token]) for token in special]
    )
    return PreTrainedTokenizerFast(tokenizer_object=backend, additional_special_tokens=extra or [], **names)


def _t5_sizes() -> dict[str, Any]:
    return {"d_model": 32, "d_kv": 8, "num_heads": 4, "d_ff": 48, "num_layers": 3, "num_decoder_layers": 2}


CONFIGS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "bert": (BertConfig, bert_tokenizer, {}),
    "roberta": (RobertaConfig, roberta_tokenizer, {"type_vocab_size": 1}),
    "xlm-roberta": (XLMRobertaConfig, roberta_tokenizer, {"type_vocab_size": 1}),
    "mpnet": (MPNetConfig, roberta_tokenizer, {}),
    "distilbert": (DistilBertConfig, bert_tokenizer, {}),
    "electra": (ElectraConfig, bert_tokenizer, {"embedding_size": 16}),
    "albert": (AlbertConfig, bert_tokenizer, {"embedding_size": 16}),
    "deberta-v2": (
        DebertaV2Config,
        bert_tokenizer,
        {"relative_attention": True, "position_buckets": 8, "pos_att_type": ["p2c", "c2p"]},
    ),
    "deberta-v2-conv": (
        DebertaV2Config,
        bert_tokenizer,
        {"relative_attention": True, "conv_kernel_size": 3, "position_biased_input": False},
    ),
    "t5": (T5Config, t5_tokenizer, _t5_sizes()),
}
FAMILIES = tuple(CONFIGS)


def tiny_model(family: str, tokenizer: Any, *, labels: int = 3, seed: int = 0, **changes: Any) -> Any:
    """A random classifier in evaluation mode, its weights large enough that words matter."""
    config_class, _, own = CONFIGS[family]
    sizes = own if family == "t5" else {**SIZES, **own}
    ids = {
        name: getattr(tokenizer, name)
        for name in ("pad_token_id", "eos_token_id", "bos_token_id")
        if getattr(tokenizer, name) is not None
    }
    config = config_class(vocab_size=len(tokenizer), num_labels=labels, **{**sizes, **ids, **changes})
    if family == "t5":
        config.decoder_start_token_id = tokenizer.pad_token_id
    torch.manual_seed(seed)
    model = AutoModelForSequenceClassification.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0.0, 0.25)
    return model.eval()


def tiny_classifier(
    family: str = "bert", *, labels: int = 3, seed: int = 0, max_length: int = 48, **changes: Any
) -> TextModel:
    """A classifier around :func:`tiny_model` with the tokenizer of its family."""
    tokenizer = CONFIGS[family][1]()
    model = tiny_model(family, tokenizer, labels=labels, seed=seed, **changes)
    return TextModel(model, tokenizer, max_length=max_length)


def balanced(model: TextModel, texts: Sequence[str], pairs: Sequence[str] | None = None) -> TextModel:
    """The model with the last bias moved, so that each of its two labels answers half of the texts."""
    heads = [part for part in model.module.modules() if isinstance(part, torch.nn.Linear)]
    head = next(part for part in reversed(heads) if part.out_features == 2)
    with torch.no_grad():
        logits = model.forward(model.batch(model.encode(texts, pairs))).logits
        head.bias[0] += (logits[:, 1] - logits[:, 0]).quantile(0.5)
    return model


DECODER_WORDS = ("<unk>", "<pad>", "good", "film", "bad", "is", "a")


def tiny_decoder(*, pad: str = "<pad>", model_pad: int | None = None) -> TextModel:
    """A GPT-2, which answers at the last token that is not padding; positions weigh much in it.

    ``pad`` is the padding token of the tokenizer; ``model_pad`` the model's, if that is another.
    """
    vocabulary = {word: number for number, word in enumerate(DECODER_WORDS)}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>", pad_token=pad)
    ids = {"pad_token_id": vocabulary[pad] if model_pad is None else model_pad}
    sizes = {"n_embd": 16, "n_layer": 1, "n_head": 2, "num_labels": 2, "bos_token_id": 0, "eos_token_id": 0}
    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_config(
        GPT2Config(vocab_size=len(vocabulary), **ids, **sizes)
    )
    with torch.no_grad():
        model.transformer.wpe.weight.mul_(200)
    return TextModel(model.eval(), tokenizer, max_length=16)


TEXTS = (
    "a gorgeous , witty film",
    "dull",
    "the story is very long and the ending was not good but really moving",
    "this movie never tired me",
    "bold old war",
    "it was a warm night in the new world , too short for love and for life",
    "poor plot , flat actor , awful score",
    "people of the last day",
)
"""Inputs of one to eighteen tokens."""


def sentences(count: int, *, seed: int = 0) -> list[str]:
    """Random word strings of 1 to 16 known words."""
    chooser = random.Random(seed)
    return [" ".join(chooser.choices(WORDS, k=chooser.randint(1, 16))) for _ in range(count)]
