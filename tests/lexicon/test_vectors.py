"""Vectors are read from every format, found whatever their case, and their neighbours are exact."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unfooled.errors import DataError, UsageError
from unfooled.lexicon import vector_files, vectors
from unfooled.lexicon.vectors import Vectors, load_vectors, unit


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UNFOOLED_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def random_vectors() -> Vectors:
    rng = np.random.default_rng(7)
    return Vectors([f"w{i}" for i in range(300)], unit(rng.normal(size=(300, 8)).astype(np.float32)))


def test_neighbours_are_the_exact_nearest_words(random_vectors: Vectors) -> None:
    scores = random_vectors.matrix @ random_vectors.matrix.T
    for row in (0, 17, 299):
        order = [i for i in np.argsort(-scores[row]) if i != row]
        found = random_vectors.neighbours(f"w{row}", count=10)
        assert [word for word, _ in found] == [f"w{i}" for i in order[:10]]
        np.testing.assert_allclose([c for _, c in found], scores[row][order[:10]], rtol=1e-5)


def test_least_cosine_cuts_the_list_and_table_equals_single_lookups(random_vectors: Vectors) -> None:
    table = random_vectors.neighbour_table(["w1", "w2", "nowhere"], 40, 0.5)
    fresh = Vectors(random_vectors.words, random_vectors.matrix)
    single = fresh.neighbours("w1", 40, 0.5)
    assert [word for word, _ in table["w1"]] == [word for word, _ in single] and table["nowhere"] == ()
    assert 0 < len(table["w1"]) < 40 and all(cosine >= 0.5 for _, cosine in table["w1"])
    assert fresh.neighbours("w1", 3, 0.5) == single[:3]
    assert len(fresh.neighbours("w1", 1000, -1.0)) == 299


def test_kept_table_gives_what_would_be_computed(random_vectors: Vectors, tmp_path: Path) -> None:
    vector_files.write(tmp_path, list(random_vectors.words), random_vectors.matrix, table=True)
    kept = vector_files.open_folder(tmp_path)
    for word in ("w0", "w123"):
        for count, least in ((5, 0.0), (100, -1.0), (150, -1.0)):
            a, b = kept.neighbours(word, count, least), random_vectors.neighbours(word, count, least)
            assert [w for w, _ in a] == [w for w, _ in b]


def test_lookups_ignore_case_and_a_word_is_not_its_own_neighbour() -> None:
    matrix = unit(np.array([[1, 0], [1, 0.01], [1, 1], [0, 1]], dtype=np.float32))
    cased = Vectors(["Good", "good", "fine", "bad"], matrix)
    assert "GOOD" in cased and "worse" not in cased
    assert [word for word, _ in cased.neighbours("GOOD", 3, -1.0)] == ["fine", "bad"]
    assert cased.cosine("good", "GOOD") == pytest.approx(1)
    assert cased.cosine("good", "worse") is None


def test_zero_vector_has_cosine_zero() -> None:
    some = Vectors(["a", "b"], unit(np.array([[0, 0], [1, 2]], dtype=np.float32)))
    assert some.cosine("a", "b") == 0.0 and some.cosine("a", "a") == 0.0


@pytest.mark.parametrize("header", ["", "3 2\n"])
def test_text_file_with_and_without_header(header: str, tmp_path: Path, own_cache: Path) -> None:
    file = tmp_path / "own.txt"
    file.write_text(header + "good 3 4\n. . . 1 0\ngood 9 9\nbad -3 -4\n", encoding="utf-8")
    own = load_vectors(file)
    assert own.words == ("good", ". . .", "bad")
    assert own.matrix.dtype == np.float32 and own.cosine("good", "bad") == pytest.approx(-1)
    np.testing.assert_allclose(np.linalg.norm(own.matrix, axis=1), 1, rtol=1e-6)


def test_second_load_reads_the_map_and_changed_bytes_are_noticed(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "own.txt"
    file.write_text("a 1 0\nb 0 1\n", encoding="utf-8")
    first = load_vectors(file)
    vectors._loaded.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(vector_files, "read_text", lambda path: pytest.fail("the text was read again"))
        assert load_vectors(file).fingerprint() == first.fingerprint()
    file.write_text("a 1 0\nb 1 1\n", encoding="utf-8")
    vectors._loaded.cache_clear()
    assert load_vectors(file).fingerprint() != first.fingerprint()
    assert not list((own_cache / "lexicon").glob("*~*"))


@pytest.mark.parametrize("text", ["a 1 2\nb 1\n", "a 1 x\n", "a 1 nan\n", "", "a\n"])
def test_broken_text_is_refused_and_nothing_is_kept(text: str, tmp_path: Path, own_cache: Path) -> None:
    file = tmp_path / "broken.txt"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"broken\.txt"):
        load_vectors(file)
    assert not list((own_cache / "lexicon").iterdir())


def test_binary_file_and_unknown_name_are_refused(tmp_path: Path, own_cache: Path) -> None:
    file = tmp_path / "vectors.bin"
    file.write_bytes(b"2 2\nword \xff\xfe\x00\x81")
    with pytest.raises(DataError, match="text format"):
        load_vectors(file)
    with pytest.raises(UsageError, match="counter-fitted, glove"):
        load_vectors("word2vec")


@pytest.mark.network
def test_glove_assets_have_their_words_and_sensible_neighbours() -> None:
    glove = load_vectors("glove")
    assert glove.matrix.shape == (33_860, 300) and len(glove) == 33_860
    assert "movie" in dict(glove.neighbours("film", 5))
    small = load_vectors("glove-50d")
    assert small.matrix.shape == (400_000, 50) and "movie" in dict(small.neighbours("Film", 5))
    assert glove.fingerprint() != small.fingerprint()
