"""Models that answer questions: windows with exact offsets, best spans, several windows, no answer."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from tiny_models import WORDS
from tiny_questions import tiny_reader
from unfooled.models import EncodedQuestion, KeyedNoise, Noise, QaModel, Unreadable
from unfooled.models.spans import NO_SPAN, SHUT, SpanScores, best_spans, compared_spans
from unfooled.models.windows import encode_questions, whole
from unfooled.predictors import Plain, TwoStep, Vote

FAMILIES = ["bert", "roberta", "mpnet", "distilbert", "electra", "albert", "deberta-v2"]
QUESTION = "the film was good or bad"
CONTEXT = " ".join(WORDS)  # eighty words: several windows


def byte_level() -> PreTrainedTokenizerFast:
    """RoBERTa's way: bytes, so that an emoji is several tokens."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    vocabulary = {piece: number for number, piece in enumerate([*special, *letters])}
    backend = Tokenizer(models.BPE(vocabulary, [], unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, cls_token="<s>", pad_token="<pad>", sep_token="</s>", unk_token="<unk>"
    )


def pieces() -> PreTrainedTokenizerFast:
    """SentencePiece's way: a word begins with the white space before it; letters are normalised (NFKD)."""
    special = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]
    letters = ["▁", *"abcdefghijklmnopqrstuvwxyzαβθηνабвгйё東京.,?", "e\u0301", "\u0301", "\u0308"]
    backend = Tokenizer(models.Unigram([(piece, -1.0) for piece in [*special, *letters]], 3))
    backend.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.Lowercase()])
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]", unk_token="[UNK]"
    )


def accents_stripped() -> PreTrainedTokenizerFast:
    """BERT's way: accents are dropped before the words are looked up."""
    return tiny_reader().tokenizer


TOKENIZERS = {"bytes": byte_level, "pieces": pieces, "accents stripped": accents_stripped}
ANSWERS = ["Zoe\u0301", "👩🏽\u200d🚀", "Αθήνα", "東京", "Ёлка", "नमस्ते", "café", "7th", "👍🏿"]
LETTERED = f"In {', '.join(ANSWERS)} end. " * 2


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("max_length", [40, 400])
def test_an_answer_that_becomes_tokens_and_a_span_again_is_the_same_answer(
    name: str, max_length: int
) -> None:
    tokenizer = TOKENIZERS[name]()
    (item,) = encode_questions(tokenizer, [("who e\u0301?", LETTERED)], max_length=max_length, stride=12)
    assert (len(item.windows) == 1) == (max_length == 400)
    found = 0
    for answer in ANSWERS:
        start = LETTERED.index(answer)
        span = (start, start + len(answer))
        for window in item.windows:
            tokens = window.covering(span)
            if tokens is not None:
                assert window.span(*tokens) == span, answer
                found += 1
    assert found >= len(ANSWERS)  # every answer is whole in some window


@pytest.mark.parametrize("name", TOKENIZERS)
def test_windows_cover_the_context_and_hold_the_whole_question(name: str) -> None:
    tokenizer = TOKENIZERS[name]()
    (item,) = encode_questions(tokenizer, [("who is that ?", LETTERED)], max_length=40, stride=10)
    places: set[int] = set()
    for before, window in zip((None, *item.windows), item.windows, strict=False):
        assert len(window) <= 40
        own = [offset for offset, word in zip(window.offsets, window.maskable, strict=True) if word]
        assert all(which == 1 for which, _, _ in own)
        assert window.ids[: 1 + sum(window.asked)] == item.windows[0].ids[: 1 + sum(window.asked)]
        if before is not None:
            shared = [o for o, word in zip(before.offsets, before.maskable, strict=True) if word][-10:]
            assert own[:10] == shared
        places |= {place for _, start, end in own for place in range(start, end)}
    read = {
        place for place in range(len(LETTERED)) if LETTERED[place].isalnum() and LETTERED[place].isascii()
    }
    assert read <= places


def test_a_span_never_cuts_a_character_as_a_reader_sees_it() -> None:
    assert whole("e\u0301te\u0301", 0, 1) == (0, 2)
    assert whole("a 👩🏽\u200d🚀 b", 2, 3) == (2, 6)
    assert whole("a 👩🏽\u200d🚀 b", 5, 6) == (2, 6)
    assert whole("  word ", 0, 7) == (2, 6)


def test_a_long_question_is_cut_and_says_so() -> None:
    model = tiny_reader(max_length=48)
    (item,) = model.read([(" ".join(WORDS[:70]), "a good film")])
    assert item.truncated and len(item.windows) == 1
    assert len(item.windows[0]) <= 48
    assert not model.read([("who ?", "a good film")])[0].truncated


def test_what_cannot_be_read_is_refused_with_the_reason() -> None:
    model = tiny_reader()
    found = model.read(
        [("", "a film"), ("who ?", " \n"), ("\x00", "a film"), ("who ?", "\x00\x00"), ("a", "b")]
    )
    assert [type(one) for one in found] == [Unreadable] * 4 + [EncodedQuestion]
    assert found[0].reason == "the question is empty"
    assert found[1].reason == "the context is empty"


def test_best_spans_are_those_of_trying_all() -> None:
    model = tiny_reader(max_length=64)
    (item,) = model.read([(QUESTION, " ".join(WORDS[:30]))])
    (window,) = item.windows
    logits = torch.randn(1, 2, len(window), generator=torch.Generator().manual_seed(1))
    is_open = torch.tensor(window.maskable)
    is_open[window.null] = True
    logits = logits.masked_fill(~is_open, SHUT)
    (found,) = best_spans([window], logits, longest=5)
    words = [place for place, word in enumerate(window.maskable) if word]
    expected = {
        window.span(first, last): float(logits[0, 0, first] + logits[0, 1, last])
        for first, last in product(words, words)
        if 0 <= last - first < 5
    }
    best = sorted(expected, key=expected.__getitem__, reverse=True)[:20]
    assert list(found.spans) == best
    assert found.null == pytest.approx(float(logits[0, :, 0].sum()))
    assert found.spans[best[0]] == pytest.approx(expected[best[0]])


def test_the_best_window_counts_and_no_answer_must_hold_in_all() -> None:
    first = SpanScores({(0, 3): 2.0, (5, 7): 1.0}, null=6.0)
    second = SpanScores({(5, 7): 4.0, (9, 12): 3.0}, null=3.5)
    never = compared_spans([[first, second]], unanswerable=False)
    assert never.answers == ((0, 3), (5, 7), (9, 12))
    assert never.rows == [[2.0, 4.0, 3.0]]
    may = compared_spans([[first, second]], unanswerable=True)
    assert may.answers is not None and may.answers[-1] == NO_SPAN
    assert may.rows[0][-1] == 3.5  # the span (5, 7) is better
    assert compared_spans([[SpanScores({}, null=1.0)]], unanswerable=False).answers == (NO_SPAN,)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_answers_as_its_plain_hugging_face_call(family: str) -> None:
    model = tiny_reader(family)
    items = model.read(
        [(QUESTION, "a bold old war was a really good film"), ("the story", "it was a long day")]
    )
    batch = model.batch([item.windows[0] for item in items])
    inputs = {"input_ids": batch.ids, "attention_mask": batch.mask}
    if getattr(model.module.config, "type_vocab_size", 0) > 1:
        inputs["token_type_ids"] = batch.type_ids
    with torch.no_grad():
        expected = model.module(**inputs)
        found = model.forward(batch).logits
    for number, own in enumerate((expected.start_logits, expected.end_logits)):
        torch.testing.assert_close(found[:, number][batch.maskable], own[batch.maskable])
    assert (found[:, 0][batch.asked] == SHUT).all(), "no answer begins in the question"
    for item, decision in zip(items, Plain().decide(model, items), strict=True):
        assert decision.span is not None and decision.span[1] > decision.span[0]
        assert sum(decision.scores) == pytest.approx(1.0)
        assert model.answer_texts(item, [decision.span])[0] in item.texts[1]


@pytest.fixture(scope="module")
def reader() -> QaModel:
    return tiny_reader()


def test_an_answer_does_not_depend_on_what_else_is_asked(reader: QaModel) -> None:
    texts = [(QUESTION, CONTEXT), ("the story", "it was a long day"), ("a good day", " ".join(WORDS[20:60]))]
    for predictor in (Plain(), Vote(sigma=0.5, votes=6), TwoStep(sigma=0.5, second_votes=8)):
        items = reader.read(texts)
        assert len(items[0].windows) > 2
        together = predictor.decide(reader, items, seed=3)
        alone = [predictor.decide(reader, [item], seed=3)[0] for item in items]
        assert [one.span for one in together] == [one.span for one in alone]
        assert [one.votes for one in together] == [one.votes for one in alone]
        assert predictor.decide(reader, reversed_(items), seed=3)[-1].span == together[0].span


def reversed_(items: list[EncodedQuestion]) -> list[EncodedQuestion]:
    return list(reversed(items))


def test_votes_are_cast_for_spans_and_masks_and_noise_keep_to_the_context(reader: QaModel) -> None:
    (item,) = reader.read([(QUESTION, CONTEXT)])
    (decision,) = TwoStep(sigma=1.5, noise_layers=(0,), second_votes=12, alpha=0.98).decide(reader, [item])
    assert decision.answers is not None and len(set(decision.answers)) == len(decision.answers)
    assert sum(decision.votes[0]) == 5
    assert decision.stage == 2 and sum(decision.votes[1]) <= 12
    assert decision.forwards % len(item.windows) == 0
    masked = item.excerpts(decision.masked)
    assert masked and all(which == 1 for _, (which, _, _) in masked)
    batch = reader.batch(item.windows)
    start = reader.start(batch)
    moved = KeyedNoise(Noise(1.0), [1] * len(batch))("embeddings", start, batch.noised).abs().sum(dim=-1)
    assert (moved > 0).equal(batch.maskable)


def test_the_loss_is_the_mean_of_begin_and_end_as_hugging_face_has_it(reader: QaModel) -> None:
    from unfooled.defences import Training, TrainingData, make_defence

    (item,) = reader.read([(QUESTION, "a bold old war was a really good film")])
    window = item.windows[0]
    tokens = window.covering((2, 6))
    assert tokens is not None
    batch = reader.batch([window], [tokens])
    session = make_defence("standard").begin(Training(reader, TrainingData([], []), None, seed=0, steps=1))
    with torch.no_grad():
        found = session.task_loss(reader.forward(batch).logits, batch)
        both = reader.forward(batch).logits.log_softmax(dim=-1)
    assert float(found) == pytest.approx(-float(both[0, 0, tokens[0]] + both[0, 1, tokens[1]]) / 2, rel=1e-5)
