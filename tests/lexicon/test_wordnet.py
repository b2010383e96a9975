"""WordNet lookups: the right words, in the right form, and never the word itself."""

from __future__ import annotations

import subprocess
import sys

import pytest

from unfooled.errors import UsageError
from unfooled.lexicon import inflection, wordnet, wordnet_files
from unfooled.lexicon.stopwords import STOP_WORDS, is_stop_word

REVIEW_WORDS = (
    "movies",
    "ran",
    "better",
    "good",
    "moving",
    "spoiled",
    "awful",
    "quickly",
    "leaves",
    "acting",
)


def test_stop_words_are_function_words_in_any_case() -> None:
    assert {"the", "n't", "'s", "not", "never", "herself", "would", "whereas"} <= STOP_WORDS
    assert is_stop_word("The") and is_stop_word("DON’T")
    assert not any(map(is_stop_word, ["film", "good", "like", "hate", "save", "little"]))
    assert all(word == word.lower() for word in STOP_WORDS) and 250 < len(STOP_WORDS) < 450


def test_importing_the_room_loads_nothing_heavy() -> None:
    modules = "stopwords, wordnet, inflection, vectors, counterfit, counterfitted"
    heavy = ["torch", "spacy", "nltk", "pandas", "lemminflect", "scipy"]
    code = (
        f"import sys\nfrom unfooled.lexicon import {modules}\nprint([m for m in {heavy} if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


@pytest.mark.network
def test_synonyms_take_the_form_of_the_word() -> None:
    assert wordnet.synonyms("movies", "NOUN") == ("films", "pictures", "pics", "flicks")
    assert "operated" in wordnet.synonyms("ran", "VERB") and "operate" not in wordnet.synonyms("ran", "VERB")
    assert "safer" in wordnet.synonyms("better", "ADJ")
    assert wordnet.synonyms("MOVIES", "NOUN") == wordnet.synonyms("movies", "NOUN")


@pytest.mark.network
@pytest.mark.parametrize("word", REVIEW_WORDS)
def test_synonyms_are_other_single_lower_case_words(word: str) -> None:
    found = wordnet.synonyms(word)
    assert len(set(found)) == len(found)
    for other in found:
        assert other == other.lower() and " " not in other and "_" not in other
        assert inflection.lemmas(word).isdisjoint(inflection.lemmas(other)), other


@pytest.mark.network
def test_synonyms_of_one_class_are_among_those_of_all() -> None:
    assert set(wordnet.synonyms("good", "ADV")) == {"well", "thoroughly", "soundly"}
    assert set(wordnet.synonyms("good", "ADJ")) < set(wordnet.synonyms("good"))
    assert wordnet.synonyms("good", "PROPN") == ()
    with pytest.raises(UsageError, match="NOUN, VERB"):
        wordnet.synonyms("good", "adjective")


@pytest.mark.network
def test_phrases_come_only_when_asked_for_and_are_inflected() -> None:
    assert "look on" in wordnet.synonyms("watch", "VERB", multiword=True)
    assert "looked on" in wordnet.synonyms("watched", "VERB", multiword=True)
    single = set(wordnet.synonyms("watch", "VERB"))
    assert single == {w for w in wordnet.synonyms("watch", "VERB", multiword=True) if " " not in w}


@pytest.mark.network
def test_raw_synonyms_keep_lemmas_as_wordnet_spells_them() -> None:
    assert wordnet.raw_synonyms("Movies") == ("movie", "film", "picture", "pic", "flick")
    assert wordnet.raw_synonyms("movie") == ("film", "picture", "pic", "flick")
    assert "New" not in wordnet.raw_synonyms("washington") and "Capital" in wordnet.raw_synonyms("washington")
    assert wordnet.raw_synonyms("xyzzyq") == ()


@pytest.mark.network
def test_antonyms_are_direct_and_inflected() -> None:
    assert wordnet.antonyms("good", "ADJ") == ("bad", "evil")
    assert wordnet.antonyms("better", "ADJ") == ("worse",)
    assert wordnet.antonyms("loved", "VERB") == ("hated",)
    assert wordnet.antonyms("dreadful") == ()


@pytest.mark.network
def test_pairs_agree_with_the_lookups_and_come_once() -> None:
    antonyms = list(dict.fromkeys((a, b) for a, b, _ in wordnet_files.antonymous_lemmas()))
    assert len(antonyms) > 3000 and len({frozenset(pair) for pair in antonyms}) == len(antonyms)
    for a, b in antonyms[::150]:
        assert b in wordnet.antonyms(a) or not inflection.lemmas(a).isdisjoint(inflection.lemmas(b)), (a, b)
    synonyms = list(wordnet.synonym_pairs())
    assert len(synonyms) > 70_000 and len({frozenset(pair) for pair in synonyms}) == len(synonyms)
    for a, b in synonyms[::4000]:
        assert b in map(str.lower, wordnet.raw_synonyms(a)), (a, b)
