"""Part of speech: what spaCy's own pipeline says, faster, with exact spans."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unfooled import assets
from unfooled.attacks.parts.constraints import neighbourhood
from unfooled.lexicon.tagger import Tag, Tagger, load_tagger, pos_of_span, same_coarse_pos
from unfooled.words.document import Document

REVIEWS = (
    "it 's a gorgeous , witty , seductive movie .",
    "they do n't make films like this any more , and they should n't .",
    "the naïve café scene — “great” — runs 90 minutes… 😀 wow",
    "Paris has been waiting; nobody knew that everything would end here.",
    "There is something\n\nodd   about  it , but i 'd watch it once",
    "an utterly compelling ` who wrote it ' in which the reputation of a famous author comes into question",
    "can't won't gonna ain't",
)


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return load_tagger()


@pytest.mark.network
def test_tags_are_those_of_spacy_with_its_attribute_ruler(tagger: Tagger) -> None:
    import spacy

    nlp = spacy.load(assets.path("tagger"), exclude=["parser", "ner", "senter", "lemmatizer"])
    expected = [tuple(Tag(t.idx, t.idx + len(t), t.pos_) for t in doc) for doc in nlp.pipe(REVIEWS)]
    assert tagger.tags(REVIEWS) == expected


@pytest.mark.network
def test_spans_cover_exactly_the_characters_that_are_not_space(tagger: Tagger) -> None:
    for text, tags in zip(REVIEWS, tagger.tags(REVIEWS), strict=True):
        spans = [text[tag.start : tag.end] for tag in tags if tag.pos != "SPACE"]
        assert "".join(spans) == re.sub(r"\s", "", text)


@pytest.mark.network
def test_pretokenised_clitics_are_words_of_their_own(tagger: Tagger) -> None:
    (tags,) = tagger.tags(["it 's good but i do n't like it"])
    assert " ".join(tag.pos for tag in tags) == "PRON AUX ADJ CCONJ PRON AUX PART VERB PRON"


@pytest.mark.network
@pytest.mark.parametrize("text", ["", " ", "\n"])
def test_text_without_words_has_no_word_tags(tagger: Tagger, text: str) -> None:
    assert all(tag.pos == "SPACE" for tag in tagger.tags([text])[0])


@pytest.mark.network
@settings(max_examples=25)
@given(st.text(max_size=40))
def test_any_unicode_is_tagged_with_spans_within_the_text(text: str) -> None:
    end = 0
    for tag in load_tagger().tags([text])[0]:
        assert end <= tag.start < tag.end <= len(text) and tag.pos
        end = tag.end


@pytest.mark.network
def test_order_repetition_and_batching_do_not_matter(tagger: Tagger) -> None:
    together = tagger.tags([*REVIEWS, *reversed(REVIEWS)])
    assert together[: len(REVIEWS)] == together[len(REVIEWS) :][::-1]
    assert Tagger().tags(REVIEWS[3:4]) == together[3:4]


@pytest.mark.network
def test_the_neighbourhood_of_a_word_gives_it_the_tag_of_the_whole_text(tagger: Tagger) -> None:
    document = Document.of(" ".join(REVIEWS))
    (tags,) = tagger.tags(document.texts)
    for number, (_, start, end) in enumerate(document.spans):
        text, first, last = neighbourhood(document, number)
        (near,) = tagger.tags([text])
        assert pos_of_span(near, first, last) == pos_of_span(tags, start, end)


def test_span_takes_the_token_that_covers_most_of_it() -> None:
    tags = (Tag(0, 2, "AUX"), Tag(2, 5, "PART"), Tag(5, 8, "SPACE"), Tag(8, 12, "NOUN"))
    assert pos_of_span(tags, 0, 5) == "PART"
    assert pos_of_span(tags, 0, 4) == "AUX"  # the first of equals
    assert pos_of_span(tags, 1, 9) == "PART"
    assert pos_of_span(tags, 9, 10) == "NOUN"
    assert pos_of_span(tags, 5, 8) is None
    assert pos_of_span((), 0, 3) is None


def test_names_are_nouns_and_auxiliaries_are_verbs() -> None:
    assert (
        same_coarse_pos("NOUN", "PROPN") and same_coarse_pos("AUX", "VERB") and same_coarse_pos("ADJ", "ADJ")
    )
    assert not same_coarse_pos("NOUN", "VERB") and not same_coarse_pos("ADJ", "ADV")
    assert not same_coarse_pos(None, None)


def test_importing_the_lexicon_tools_loads_nothing_heavy() -> None:
    modules = "unfooled.lexicon.tagger, unfooled.lexicon.similarity, unfooled.lexicon.masked_lm"
    code = (
        f"import sys, {modules}; print([m for m in ('torch', 'transformers', 'spacy') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
