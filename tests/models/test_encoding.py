"""Texts as tokens: what may be masked, which characters a token came from, what was cut off."""

from __future__ import annotations

import string

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from tiny_models import TEXTS, bert_tokenizer, roberta_tokenizer, t5_tokenizer, tiny_model
from unfooled.hub.batches import length_sorted_chunks
from unfooled.models import TextModel, collate
from unfooled.models.encoding import encode


def sentencepiece_like_tokenizer() -> PreTrainedTokenizerFast:
    """Unigram, as T5, ALBERT, XLM-R and DeBERTa-v3 use it: special tokens are pieces of the vocabulary."""
    special = ["<pad>", "</s>", "<unk>", "[MASK]"]
    pieces = [(token, 0.0) for token in special] + [("▁", -3.0), ("▁film", -5.0)]
    pieces += [(letter, -6.0) for letter in string.ascii_letters + string.punctuation]
    backend = Tokenizer(models.Unigram(pieces, unk_id=2))
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<pad>", eos_token="</s>", unk_token="<unk>", mask_token="[MASK]"
    )


TOKENIZERS = {
    "wordpiece": bert_tokenizer,
    "roberta": roberta_tokenizer,
    "t5": t5_tokenizer,
    "unigram": sentencepiece_like_tokenizer,
}


@pytest.mark.parametrize("make", TOKENIZERS.values(), ids=TOKENIZERS)
def test_special_tokens_spelt_in_the_text_are_text(make: type) -> None:
    tokenizer = make()
    text = "[MASK] film [SEP]<mask> </s> <extra_id_0> <pad>[PAD]"
    (item,) = encode(tokenizer, [text], max_length=200)
    forbidden = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    inside = [token for token, maskable in zip(item.ids, item.maskable, strict=True) if maskable]
    assert len(inside) > 8
    assert not forbidden & set(inside)
    (plain,) = encode(tokenizer, ["film"], max_length=200)
    added = len(plain) - sum(plain.maskable)
    assert len(item) - len(inside) == added, "only the template's own tokens are special"


@pytest.mark.parametrize("make", [bert_tokenizer, roberta_tokenizer, t5_tokenizer])
def test_spelt_special_tokens_are_read_letter_by_letter(make: type) -> None:
    """What an upper-case «[MASK]» says is what a lower-case one says: the letters, not «unknown»."""
    tokenizer = make()
    for special in tokenizer.all_special_tokens:
        spelt, lower = encode(tokenizer, [f"a {special} film", f"a {special.lower()} film"], max_length=99)
        assert spelt.ids == lower.ids or special == special.lower()
        assert tokenizer.unk_token_id not in spelt.ids
        assert len(spelt) > len(special)


def test_t5_answers_a_text_that_spells_its_end_token() -> None:
    """T5's head refuses batches whose rows have different numbers of end tokens."""
    tokenizer = sentencepiece_like_tokenizer()
    classifier = TextModel(tiny_model("t5", tokenizer), tokenizer)
    batch = classifier.batch(classifier.encode(["a film", "a </s> film </s>"]))
    assert classifier.forward(batch).logits.shape == (2, 3)


@pytest.mark.parametrize("text", [*TEXTS, "שלום film עולם", "naïve CAFÉ", "film 🎬 film", "x\x00y\tz"])
def test_offsets_lead_back_to_the_words(bert: TextModel, text: str) -> None:
    (item,) = bert.encode([text])
    for token, maskable, (which, start, end) in zip(item.ids, item.maskable, item.offsets, strict=True):
        assert which == 0
        piece = bert.tokenizer.convert_ids_to_tokens(token)
        if not maskable:
            assert start == end == 0
        elif piece != "[UNK]":
            assert text[start:end].lower().replace("é", "e").replace("ï", "i") == piece.removeprefix("##")
        else:
            assert text[start:end].strip()


def test_offsets_of_a_pair_name_their_text(bert: TextModel) -> None:
    pair = ("a film", "it was long")
    (item,) = bert.encode([pair[0]], [pair[1]])
    words = [
        pair[which][start:end]
        for maskable, (which, start, end) in zip(item.maskable, item.offsets, strict=True)
        if maskable
    ]
    assert words == ["a", "film", "it", "was", "long"]
    assert item.type_ids == (0, 0, 0, 0, 1, 1, 1, 1)
    assert item.maskable == (False, True, True, False, True, True, True, False)


def test_truncation_is_flagged(bert: TextModel) -> None:
    room = bert.max_length - 2
    exact, longer = bert.encode(["film " * room, "film " * (room + 1)])
    assert (len(exact), exact.truncated) == (bert.max_length, False)
    assert (len(longer), longer.truncated) == (bert.max_length, True)
    (pair,) = bert.encode(["film"], ["film " * 200])
    assert (len(pair), pair.truncated) == (bert.max_length, True)
    assert pair.ids[-1] == bert.tokenizer.sep_token_id


def test_masking_replaces_the_given_positions_only(bert: TextModel) -> None:
    (item,) = bert.encode(["a bold film"])
    masked = item.with_masked([1, 3], bert.mask_token_id)
    assert masked.ids == (item.ids[0], bert.mask_token_id, item.ids[2], bert.mask_token_id, item.ids[4])
    assert (masked.maskable, masked.offsets) == (item.maskable, item.offsets)
    assert bert.mask_token_id not in item.ids


def test_batches_are_padded_to_their_longest_input(bert: TextModel) -> None:
    encoded = bert.encode(TEXTS)
    batch = collate(encoded, pad_id=bert.tokenizer.pad_token_id, labels=range(len(encoded)))
    assert batch.ids.shape == (len(TEXTS), max(map(len, encoded)))
    for row, item in enumerate(encoded):
        assert batch.ids[row].tolist() == [*item.ids, *[0] * (batch.ids.shape[1] - len(item))]
        assert int(batch.mask[row].sum()) == len(item)
        assert int(batch.maskable[row].sum()) == sum(item.maskable)
    assert batch.labels is not None
    assert batch.rows(torch.tensor([3, 3, 0])).labels.tolist() == [3, 3, 0]  # type: ignore[union-attr]
    assert collate(encoded, pad_id=0, multiple_of=8).ids.shape[1] % 8 == 0


def test_nothing_to_encode_is_no_error(bert: TextModel) -> None:
    assert bert.encode([]) == []


@pytest.mark.parametrize("max_tokens", [1, 10, 37, 10_000])
def test_chunks_hold_every_input_once_and_keep_the_token_limit(max_tokens: int) -> None:
    lengths = [5, 1, 9, 9, 3, 12, 0, 7]
    chunks = list(length_sorted_chunks(lengths, max_tokens))
    assert sorted(index for chunk in chunks for index in chunk) == list(range(len(lengths)))
    for chunk in chunks:
        longest = max(lengths[index] for index in chunk)
        assert len(chunk) == 1 or longest * len(chunk) <= max_tokens
    assert list(length_sorted_chunks([], 10)) == []
