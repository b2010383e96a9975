"""A ball is read as words only where the tokenizer splits at spaces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from tiny_models import bert_tokenizer, roberta_tokenizer, t5_tokenizer, tiny_classifier
from unfooled.certificates.split_at_spaces import SpaceSplit, joining_token
from unfooled.certificates.word_reader import WordReader
from unfooled.lexicon.substitution import load_table
from unfooled.models import TextModel
from unfooled.records.certificate import CERTIFIED, Certificate


def pairs(*words: str) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """A vocabulary and the merges that build each of the words from its left."""
    vocabulary = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4}
    merges: list[tuple[str, str]] = []
    for word in words:
        for letter in word:
            vocabulary.setdefault(letter, len(vocabulary))
        for end in range(1, len(word)):
            if word[: end + 1] not in vocabulary:
                vocabulary[word[: end + 1]] = len(vocabulary)
                merges.append((word[:end], word[end]))
    return vocabulary, merges


def bpe(*, joins: bool) -> PreTrainedTokenizerFast:
    """Words and spaces as tokens; ``joins`` adds «fine tale» as one token, over its space."""
    vocabulary, merges = pairs("good", "fine", "film", "tale")
    if joins:
        vocabulary |= {"fine ": len(vocabulary), "fine tale": len(vocabulary) + 1}
        merges += [("fine", " "), ("fine ", "tale")]
    vocabulary.setdefault(" ", len(vocabulary))
    backend = Tokenizer(models.BPE(vocabulary, merges, unk_token="[UNK]"))
    if not joins:
        backend.pre_tokenizer = pre_tokenizers.Split(" ", "isolated")
    frame = [("[CLS]", 2), ("[SEP]", 3)]
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", special_tokens=frame
    )
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return PreTrainedTokenizerFast(tokenizer_object=backend, mask_token="[MASK]", **names)


def read(tokenizer: Any, tmp_path: Path) -> Certificate:
    """«good film» under a ball that holds every replacement of a single word."""
    table = tmp_path / "near.json"
    table.write_text(json.dumps({"good": ["fine"], "film": ["tale"]}))
    model = TextModel(tiny_classifier("bert", labels=2).module, tokenizer)
    reader = WordReader(model, substitutes=load_table(str(table)), antonyms=None)
    (encoded,) = model.encode(["good film"])
    return reader.read(Certificate(0, CERTIFIED, "l2", label="up", radius=1e6), encoded)


def test_a_tokenizer_that_joins_words_over_a_space_covers_none(tmp_path: Path) -> None:
    """Each replacement alone keeps the number of tokens; both together do not."""
    tokenizer = bpe(joins=True)
    lengths = {text: len(tokenizer(text)["input_ids"]) for text in ("good film", "good tale", "fine tale")}
    assert lengths["good film"] == lengths["good tale"] != lengths["fine tale"]
    found = read(tokenizer, tmp_path)
    assert found.words_covered == 0 and "joins words over spaces (its token 'fine '" in found.message


def test_the_same_words_split_at_spaces_are_covered(tmp_path: Path) -> None:
    found = read(bpe(joins=False), tmp_path)
    assert found.words_covered == found.words_substitutable == 2 and found.message == ""


@pytest.mark.parametrize("make", [bert_tokenizer, roberta_tokenizer, t5_tokenizer])
@pytest.mark.parametrize(
    "text", ["a good film", "  two  spaces, (and) dots ... zzz!", "x", "Tab\there \n now"]
)
def test_tokenizers_that_split_at_spaces_add_up(make: Any, text: str) -> None:
    model = TextModel(tiny_classifier("bert", labels=2).module, make())
    assert joining_token(model.tokenizer) is None
    assert SpaceSplit(model.tokenizer).refusal(model.encode([text])[0]) == ""


def test_a_text_whose_words_alone_make_other_tokens_is_told() -> None:
    """Without a pre-tokenizer WordPiece reads the whole text as one word, here an unknown one."""
    tokenizer = bert_tokenizer()
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Split("~", "isolated")
    model = TextModel(tiny_classifier("bert", labels=2).module, tokenizer)
    assert "do not make the tokens of the whole" in SpaceSplit(tokenizer).refusal(model.encode(["a film"])[0])


def test_byte_level_spaces_are_seen_inside_a_token_only() -> None:
    def vocabulary(*tokens: str) -> Any:
        backend = Tokenizer(models.WordLevel({token: n for n, token in enumerate(("<u>", *tokens))}, "<u>"))
        backend.pre_tokenizer = pre_tokenizers.ByteLevel()
        return PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<u>")

    assert joining_token(vocabulary("Ġgood", "ĠĠ", "film", "ĊĠ")) is None
    assert joining_token(vocabulary("Ġgood", "ofĠthe")) == "ofĠthe"
    assert joining_token(bpe(joins=True)) == "fine "
