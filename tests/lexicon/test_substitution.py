"""Substitution tables: symmetric sets, exact overlaps, kept on disk as they were built."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from unfooled.errors import UsageError, UserError
from unfooled.lexicon.substitution import SubstitutionTable, load_table


def random_synonyms(seed: int) -> dict[str, list[str]]:
    chooser = random.Random(seed)
    words = [f"w{number}" for number in range(60)]
    return {word: chooser.sample(words, chooser.randint(0, 4)) for word in words}


@pytest.mark.parametrize("expand", [False, True])
def test_overlap_is_the_smallest_share_over_the_allowed_words(expand: bool) -> None:
    for seed in range(4):
        table = SubstitutionTable.of(random_synonyms(seed), expand=expand, most=8)
        assert len(table) > 40
        for word in table.words:
            own = set(table.sampled(word))
            shares = [
                len(own & set(table.sampled(other))) / max(len(own), len(table.sampled(other)))
                for other in table.allowed(word)
            ]
            assert table.overlap(word) == min(shares)


def test_allowed_sets_are_symmetric_and_sampled_sets_hold_the_word_itself() -> None:
    table = SubstitutionTable.of(random_synonyms(1))
    for word in table.words:
        assert word in table.sampled(word) and word not in table.allowed(word)
        assert set(table.sampled(word)) == {word, *table.allowed(word)}
        assert all(word in table.allowed(other) for other in table.allowed(word))


def test_expanded_sets_are_whole_components_unless_too_large() -> None:
    chain = {"a": ["b"], "b": ["c"], "x": ["y", "z"], "z": ["u", "v"]}
    table = SubstitutionTable.of(chain, expand=True, most=3)
    assert table.sampled("a") == ("a", "b", "c") and table.overlap("a") == 1
    assert table.allowed("a") == ("b",)
    assert table.sampled("y") == ("x", "y")  # a component of five is more than three
    assert table.overlap("y") == 2 / 3


def test_words_are_found_whatever_their_case_and_unknown_ones_stay() -> None:
    table = SubstitutionTable.of({"Good": ["FINE", "two words", "_x", "good"]})
    assert table.words == ("fine", "good")
    assert table.sampled("GOOD") == ("fine", "good") and "Fine" in table
    assert table.sampled("Zebra") == ("Zebra",)
    assert table.allowed("Zebra") == () and table.overlap("Zebra") == 1


def test_a_word_that_capitals_turn_into_another_is_left_out() -> None:
    """STRASSE reads as strasse: a certificate for straße would not hold for the word in capitals."""
    table = SubstitutionTable.of({"straße": ["weg"], "weg": ["pfad"], "cafe\u0301": ["bar"]})
    assert table.words == ("bar", "cafe\u0301", "pfad", "weg")
    assert table.sampled("CAFE\u0301") == table.sampled("cafe\u0301") == ("bar", "cafe\u0301")


def test_own_table_is_read_from_json_and_faults_are_named(tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    path.write_text(json.dumps({"good": ["fine"]}))
    assert load_table(str(path)).allowed("fine") == ("good",)
    bad = tmp_path / "bad.json"
    bad.write_text('{"good": "fine"}')
    with pytest.raises(UserError, match="must hold the synonyms of each word"):
        load_table(str(bad))
    with pytest.raises(UsageError, match=r"no substitution table 'nowhere'.*counter-fitted, wordnet"):
        load_table("nowhere")


def test_a_saved_table_is_the_same_table(tmp_path: Path) -> None:
    table = SubstitutionTable.of(random_synonyms(2))
    table.save(tmp_path)
    again = SubstitutionTable.open(tmp_path)
    assert again.fingerprint() == table.fingerprint()
    assert [again.overlap(word) for word in again.words] == [table.overlap(word) for word in table.words]
    assert SubstitutionTable.of(random_synonyms(3)).fingerprint() != table.fingerprint()


@pytest.mark.network
def test_table_of_the_counter_fitted_vectors() -> None:
    table = load_table()
    assert "movie" in table.allowed("film") and "film" in table.sampled("movie")
    assert 0 < table.overlap("film") <= 1
    assert load_table("wordnet").allowed("film")
