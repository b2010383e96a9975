"""A certificate read as words: simultaneous substitutions lie inside the ball, antonyms are counted."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from tiny_models import tiny_classifier, tiny_model
from unfooled.api.certify import certify
from unfooled.certificates.distances import distances, words_covered
from unfooled.certificates.sampling import Sampling
from unfooled.certificates.word_reader import WordReader, written
from unfooled.lexicon.substitution import SubstitutionTable
from unfooled.models import TextModel
from unfooled.predictors import Classifier, Vote
from unfooled.records.certificate import CERTIFIED, Certificate
from unfooled.words.word import WORD

LOUD = Vote(sigma=40.0, noise_layers=("embeddings",))


def joining() -> TextModel:
    """SentencePiece's kind of vocabulary, which joins «her/her» into one token but not «him/her»."""
    pieces = ["▁him", "▁her", "▁Her", "▁HER", "/", "him", "her", "Her", "▁saw", "▁met", "▁a", "▁film"]
    scores = [("<unk>", -20.0), ("<pad>", -20.0), ("<mask>", -20.0), ("▁", -5.0), ("▁her/her", -1.0)]
    scores += [(piece, -2.0) for piece in pieces]
    scores += [(letter, -8.0) for letter in "abcdefghijklmnopqrstuvwxyzHERIM"]
    backend = Tokenizer(models.Unigram(scores, unk_id=0))
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    names = {"unk_token": "<unk>", "pad_token": "<pad>", "mask_token": "<mask>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, **names)
    return TextModel(tiny_model("bert", tokenizer, labels=2), tokenizer)


def reader_of(text: TextModel, table: SubstitutionTable | None, antonyms: Any = None) -> WordReader:
    deployed = Classifier(text, LOUD, labels=["down", "up"])
    return WordReader(deployed.model, substitutes=table, antonyms=antonyms)


CASES = {
    "bert": (
        {"good": ["fine", "great", "zzz"], "film": ["movie"], "old": ["tired", "long"], "war": ["love"]},
        "a good film, old/new and good-old (war)",
    ),
    "joining": ({"him": ["her"], "saw": ["met"]}, "him saw her/her and him/him met Him"),
}


@pytest.mark.parametrize("name", CASES)
def test_any_covered_number_of_simultaneous_substitutions_lies_inside_the_ball(name: str) -> None:
    """Every choice of chunks, of one word in each, and of its written forms: tokenised again as a whole."""
    model = joining() if name == "joining" else tiny_classifier("bert", labels=2)
    synonyms, text = CASES[name]
    table, vectors = SubstitutionTable.of(synonyms), model.embedding_table()
    (item,) = model.encode([text])
    moves = sorted(reader_of(model, table).largest_moves(item), reverse=True)
    assert len(moves) >= 3 and all(math.isfinite(move) for move in moves)
    # What may stand in each chunk, one word replaced, with as many tokens as before.
    chunks = text.split(" ")
    options = []
    for number, chunk in enumerate(chunks):
        found = []
        for match in WORD.finditer(chunk):
            for other in table.allowed(match[0]):
                for form in written(match[0], other):
                    changed = chunk[: match.start()] + form + chunk[match.end() :]
                    whole = " ".join([*chunks[:number], changed, *chunks[number + 1 :]])
                    if len(model.encode([whole])[0]) == len(item):
                        found.append(changed)
        options.append(found)
    able = [number for number, found in enumerate(options) if found]
    assert len(able) == len(moves)
    furthest = 0.0
    for r in range(1, len(moves) + 1):
        radius = math.sqrt(sum(move**2 for move in moves[:r])) * (1 + 1e-7)
        assert words_covered(moves, radius) == r
        for places in itertools.combinations(able, r):
            for words in itertools.product(*(options[place] for place in places)):
                attacked = list(chunks)
                for place, word in zip(places, words, strict=True):
                    attacked[place] = word
                (other,) = model.encode([" ".join(attacked)])
                assert len(other) == len(item)
                away = float(distances(vectors, item.ids, [other.ids])[0])
                assert away <= radius
                furthest = max(furthest, away / radius)
    assert furthest > 0.99  # the count is not smaller than it must be


def test_two_words_that_a_tokenizer_joins_count_once() -> None:
    model = joining()
    moves = reader_of(model, SubstitutionTable.of({"him": ["her"]})).largest_moves(
        model.encode(["him/him saw a film"])[0]
    )
    assert len(moves) == 1
    tokens = [len(model.encode([text])[0]) for text in ("him/him", "her/him", "him/her", "her/her")]
    assert tokens == [3, 3, 3, 1]  # one at a time they fit, both together they do not


def without_borders(**pieces: float) -> TextModel:
    """A tokenizer that may join words across a space, which stands as «_» in the names of its tokens."""
    vocabulary = dict.fromkeys("abcd ", -3.0) | {
        name.replace("_", " "): score for name, score in pieces.items()
    }
    backend = Tokenizer(models.Unigram([("<unk>", -20.0), ("<pad>", -20.0), *vocabulary.items()], unk_id=0))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>", pad_token="<pad>")
    return TextModel(tiny_model("bert", tokenizer, labels=2), tokenizer)


def test_a_change_that_reaches_other_chunks_covers_nothing() -> None:
    """«c| b» becomes «a |b»: as many tokens, but the second word's is another one too."""
    model = without_borders(_b=-1.0, a_=-0.5)
    before, after = model.encode(["c b", "a b"])
    assert len(before) == len(after) == 2 and before.ids[1] != after.ids[1]
    assert reader_of(model, SubstitutionTable.of({"c": ["a"]})).largest_moves(before) == [math.inf]


def test_a_change_to_another_number_of_tokens_is_no_substitution() -> None:
    model = without_borders(c_b=-1.0)
    (item,) = model.encode(["c b c b"])
    assert reader_of(model, SubstitutionTable.of({"c": ["a"]})).largest_moves(item) == []


def test_two_words_in_one_token_are_not_covered_beyond_the_radius() -> None:
    """Each change alone is small, both together are far: «c b» → «a b», «c d», «a d» are one token each."""
    model = without_borders(c_b=-1.0, a_b=-1.0, c_d=-1.0, a_d=-1.0)
    item, first, second, both = model.encode(["c b", "a b", "c d", "a d"])
    with torch.no_grad():
        table = model.architecture.embeddings.weight
        for other, move in ((first, 0.01), (second, -0.01), (both, 5.0)):
            table[other.ids[0]] = table[item.ids[0]] + move
    reader = reader_of(model, SubstitutionTable.of({"c": ["a"], "b": ["d"]}))
    radius = 0.1
    assert distances(model.embedding_table(), item.ids, [both.ids])[0] > radius
    assert words_covered(reader.largest_moves(item), radius) == 2  # what adding up would say
    found = reader.read(Certificate(0, CERTIFIED, "l2", label="up", radius=radius), item)
    assert found.words_covered == 0 and "joins words over spaces" in found.message


@pytest.mark.parametrize(
    ("word", "expected"),
    [("him", {"her"}), ("Him", {"her", "Her"}), ("HIM", {"her", "HER"})],
)
def test_a_substitute_is_measured_as_listed_and_in_the_case_of_the_word(
    word: str, expected: set[str]
) -> None:
    assert set(written(word, "her")) == expected
    model = joining()
    (item,) = model.encode([f"a {word} film"])
    vectors = model.embedding_table()
    far = [
        distances(vectors, item.ids, [other.ids])[0]
        for form in expected
        if len(other := model.encode([f"a {form} film"])[0]) == len(item)
    ]
    table = SubstitutionTable.of({"him": ["her"]})
    assert reader_of(model, table).largest_moves(item) == ([max(far)] if far else [])


ANTONYMS = {"good": ("bad",), "long": ("short",), "old": ("new", "qqqqq")}


def antonyms(word: str) -> tuple[str, ...]:
    return ANTONYMS.get(word.lower(), ())


def test_an_antonym_in_a_text_that_is_cut_is_ignored_all_the_same() -> None:
    """What is read of a long text is certified, and so is the answer to the text with the antonym."""
    short = tiny_classifier("bert", labels=2, max_length=8)
    reader = reader_of(short, SubstitutionTable.of({"good": ["fine"]}), antonyms)
    for text in ("a good film of war", "a good film of war in the long night of the day"):
        (item,) = short.encode([text])
        found = reader.read(Certificate(0, "certified", "l2", label="down", radius=1e6), item)
        assert item.truncated == ("night" in text)
        assert found.antonyms_inside == found.antonyms_considered == (2 if item.truncated else 1)
        # Substitutions are not counted there: tokens beyond the cut may have moved.
        assert found.words_covered == (0 if item.truncated else 1)


def test_antonyms_inside_the_certificate_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    from unfooled.lexicon import wordnet

    monkeypatch.setattr(wordnet, "antonyms", antonyms)
    model = tiny_classifier("bert", labels=2, seed=3)
    texts = ["a good film", "the long day", "old war", "people"]
    loud, quiet = (
        certify(
            Classifier(model, Vote(sigma=sigma, noise_layers=("embeddings",)), labels=["down", "up"]),
            texts,
            sampling=Sampling(n=1000),
        )
        for sigma in (60.0, 0.01)
    )
    certified = [one for one in loud if one.status == "certified"]
    assert certified
    vectors = model.embedding_table()
    for one in certified:
        expected = []
        for before in one.texts[0].split():
            for after in antonyms(before):
                own, other = model.encode([one.texts[0], one.texts[0].replace(before, after)])
                if len(own) == len(other) and distances(vectors, own.ids, [other.ids])[0] <= one.radius:
                    expected.append((before, after))
        assert one.antonyms_inside == len(expected) and list(one.antonym_examples) == expected[:3]
    assert sum(one.antonyms_inside or 0 for one in loud) > 0
    assert [one.antonyms_considered for one in quiet] == [1, 1, 2, 0]
    assert [one.antonyms_inside for one in quiet] == [0, 0, 0, 0]
    assert quiet.summary["obstinacy"]["texts"]["n"] == 3
    assert np.isclose(
        loud.summary["obstinacy"]["texts"]["count"], len([o for o in loud if o.antonyms_inside])
    )
