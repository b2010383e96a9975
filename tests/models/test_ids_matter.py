"""At fixed embeddings the token ids do not matter: what a certificate at the embeddings rests on."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from tiny_models import DECODER_WORDS, FAMILIES, tiny_classifier, tiny_decoder
from unfooled.models.encoding import encode
from unfooled.models.ids import ids_matter, markers, written_markers


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("pair", [None, ["the story is good"]], ids=["text", "pair"])
def test_ids_do_not_matter_at_fixed_embeddings(family: str, pair: list[str] | None) -> None:
    classifier = tiny_classifier(family)
    tokenizer, chooser = classifier.tokenizer, random.Random(0)
    (item,) = classifier.encode(["a gorgeous witty film is old"], pair)
    own = [number for number in range(len(tokenizer)) if number not in tokenizer.all_special_ids]
    ways = [[tokenizer.unk_token_id], [classifier.mask_token_id], own, own, own]
    changed = [
        replace(
            item,
            ids=tuple(
                chooser.choice(way) if word else number
                for number, word in zip(item.ids, item.maskable, strict=True)
            ),
        )
        for way in ways
    ]
    batch = classifier.batch([item, *changed])
    with torch.no_grad():
        embeddings = torch.randn(classifier.embed(batch.ids[:1]).shape).expand(len(batch), -1, -1)
        logits = classifier.forward(batch, start=embeddings).logits
        moved = classifier.forward(batch, start=classifier.start(batch)).logits
    torch.testing.assert_close(logits, logits[:1].expand_as(logits), rtol=1e-5, atol=1e-5)
    assert (moved[1:] - moved[0]).abs().max() > 0.01  # with their own embeddings they do
    assert not ids_matter(classifier, item) and written_markers(classifier) == []


def test_padding_that_unknown_words_become_is_found_by_both_checks() -> None:
    sound, unsound = tiny_decoder(), tiny_decoder(pad="<unk>")
    (item,) = sound.encode(["a good film is bad"])
    assert written_markers(sound) == [] and not ids_matter(sound, item)
    assert written_markers(unsound) == [0] and ids_matter(unsound, unsound.encode(["a good film is bad"])[0])


def test_padding_of_the_model_that_is_a_word_of_the_tokenizer_is_found() -> None:
    bad = DECODER_WORDS.index("bad")
    assert written_markers(tiny_decoder(model_pad=bad)) == [bad]


def test_the_end_token_of_an_encoder_decoder_is_a_marker() -> None:
    t5 = tiny_classifier("t5")
    assert markers(t5) == {t5.tokenizer.pad_token_id, t5.tokenizer.eos_token_id}


def test_a_model_that_looks_at_its_ids_is_found() -> None:
    classifier = tiny_classifier("bert")
    (item,) = classifier.encode(["a good film"])
    table, original = torch.randn(len(classifier.tokenizer), 3), classifier.module.forward

    def peeking(input_ids: Any, **rest: Any) -> Any:
        found = original(input_ids=input_ids, **rest)
        found.logits = found.logits + table[input_ids].sum(dim=1)
        return found

    assert not ids_matter(classifier, item)
    classifier.module.forward = peeking
    assert ids_matter(classifier, item)


def test_a_spelt_special_token_is_no_special_token_without_an_unknown_one() -> None:
    """A vocabulary that finds its padding token in text, as SentencePiece does."""
    number = {word: place for place, word in enumerate(DECODER_WORDS)}
    backend = Tokenizer(models.WordLevel(number, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="<pad>")
    (item,) = encode(tokenizer, ["good <pad> film"], max_length=9)
    assert tokenizer.pad_token_id not in item.ids and len(item) == 3
