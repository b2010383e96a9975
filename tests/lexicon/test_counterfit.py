"""Counter-fitting moves synonyms together and antonyms apart, and leaves the rest where it was."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from unfooled.errors import DataError, UsageError, UserError
from unfooled.lexicon import counterfitted, store, vector_files
from unfooled.lexicon.counterfit import CounterFitting, all_but_the_top, check_fit, counter_fit, median_cosine
from unfooled.lexicon.vectors import Vectors, load_vectors, unit

WORDS = [f"w{i}" for i in range(200)]
PLAIN = CounterFitting(removed=0)
REFERENCE = Path(__file__).parents[3] / "shared" / "data" / "lexicon" / "counterfitted_neighbors.json"


@pytest.fixture
def some() -> Vectors:
    rng = np.random.default_rng(3)
    return Vectors(WORDS, unit(rng.normal(size=(200, 20)).astype(np.float32) + 0.5))


def test_synonyms_meet_antonyms_part_and_others_stay(some: Vectors) -> None:
    fitted = Vectors(WORDS, counter_fit(some, [("w0", "w1")], [("w2", "w3")], settings=PLAIN))
    assert fitted.cosine("w0", "w1") > 0.95 > some.cosine("w0", "w1")
    assert abs(fitted.cosine("w2", "w3")) < 0.1 < some.cosine("w2", "w3")
    np.testing.assert_allclose(fitted.matrix[4:], some.matrix[4:], atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(fitted.matrix, axis=1), 1, rtol=1e-5)


def test_one_epoch_is_the_papers_gradient_step(some: Vectors) -> None:
    step = CounterFitting(removed=0, epochs=1, radius=0.0)
    close = some.neighbours("w0", 1)[0][0]  # a positive cosine, so that the distance is below δ
    fitted = counter_fit(some, [("w0", "w1"), ("w0", "w2")], [("w0", close)], settings=step)
    u, a, b, c = (some.matrix[some.row(word)].astype(np.float64) for word in ("w0", "w1", "w2", close))

    def pull(v: np.ndarray) -> np.ndarray:
        return v - (u @ v) * u

    expected = u + 0.1 * (pull(a) + pull(b)) / 2 - 0.1 * pull(c)
    np.testing.assert_allclose(fitted[0], expected / np.linalg.norm(expected), atol=1e-6)


def test_margins_end_the_push_and_the_pull(some: Vectors) -> None:
    settings = CounterFitting(
        removed=0, antonym_distance=0.5, synonym_distance=0.6, epochs=40, repel=0.02, attract=0.02
    )
    near, far = some.neighbours("w0", 1, -1.0)[0][0], some.neighbours("w0", 199, -1.0)[-1][0]
    assert some.cosine("w0", near) > 0.6 and some.cosine("w0", far) < 0.4
    parted = Vectors(WORDS, counter_fit(some, [], [("w0", near)], settings=settings))
    assert 0.45 < parted.cosine("w0", near) <= 0.5001
    joined = Vectors(WORDS, counter_fit(some, [("w0", far)], [], settings=settings))
    assert 0.3999 <= joined.cosine("w0", far) < 0.45


def test_close_words_are_kept_together(some: Vectors) -> None:
    matrix = some.matrix.copy()
    matrix[1] = unit(matrix[:1] + 0.05 * matrix[1:2])[0]
    twins = Vectors(WORDS, matrix)
    other = [("w0", "w9")]
    kept = Vectors(WORDS, counter_fit(twins, other, [], settings=PLAIN))
    free = Vectors(WORDS, counter_fit(twins, other, [], settings=CounterFitting(removed=0, preserve=0.0)))
    assert kept.cosine("w0", "w1") > free.cosine("w0", "w1") + 0.05


def test_weight_scales_the_pull_and_antonyms_overrule_synonyms(some: Vectors) -> None:
    def after(weight: float) -> float:
        return Vectors(WORDS, counter_fit(some, {("w0", "w1"): weight}, [], settings=PLAIN)).cosine(
            "w0", "w1"
        )

    assert some.cosine("w0", "w1") < after(0.1) < after(0.5) < after(1.0)
    both = Vectors(WORDS, counter_fit(some, [("w0", "w1")], [("w1", "w0")], settings=PLAIN))
    assert abs(both.cosine("w0", "w1")) < 0.1


def test_order_of_pairs_and_unknown_words_do_not_matter(some: Vectors) -> None:
    pairs = [("w0", "w1"), ("w2", "w5"), ("w7", "w1")]
    a = counter_fit(some, pairs, [("w3", "w4")], settings=PLAIN)
    b = counter_fit(
        some, [*pairs[::-1], ("w1", "w0"), ("w0", "nowhere"), ("w8", "w8")], [("w4", "w3")], settings=PLAIN
    )
    np.testing.assert_array_equal(a, b)


def test_removed_components_leave_centred_directions(some: Vectors) -> None:
    freed = all_but_the_top(some.matrix, 2)
    assert np.linalg.norm(some.matrix.mean(axis=0)) > 0.3 > 0.1 > np.linalg.norm(freed.mean(axis=0))
    assert np.linalg.matrix_rank(freed.astype(np.float64), tol=1e-3) == 18


def test_failed_fit_is_refused() -> None:
    words = ["good", "bad", "nice"]
    before = Vectors(words, unit(np.array([[1, 0], [1, 1], [0, 1]], dtype=np.float32)))
    worse = Vectors(words, unit(np.array([[1, 0], [1, 0.1], [0, 1]], dtype=np.float32)))
    with pytest.raises(UserError, match="good and bad did not move apart"):
        check_fit(before, worse, [("good", "nice")], [("good", "bad")])


def test_ppdb_lines_of_both_kinds(tmp_path: Path) -> None:
    file = tmp_path / "ppdb.txt"
    file.write_text(
        "film Movie\n\n[NN] ||| car ||| automobile ||| x=1 ||| 0-0\n[NP] ||| a car ||| b ||| y\n", "utf-8"
    )
    assert list(counterfitted.ppdb_pairs(file)) == [("film", "movie"), ("car", "automobile")]
    file.write_text("one two three\n", "utf-8")
    with pytest.raises(DataError, match="line 1"):
        list(counterfitted.ppdb_pairs(file))
    with pytest.raises(UsageError, match="no PPDB file"):
        load_vectors(ppdb=tmp_path / "absent")


def test_store_builds_once_and_keeps_nothing_half_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNFOOLED_CACHE", str(tmp_path))
    calls = []

    def broken(folder: Path) -> None:
        (folder / "part").write_text("half")
        raise ValueError("stopped")

    def whole(folder: Path) -> None:
        calls.append(folder)
        (folder / "part").write_text("whole")

    with pytest.raises(ValueError, match="stopped"):
        store.kept("thing", broken)
    (tmp_path / "lexicon" / "thing~killed").mkdir()
    assert (store.kept("thing", whole) / "part").read_text() == "whole"
    store.kept("thing", whole)
    assert len(calls) == 1 and [p.name for p in (tmp_path / "lexicon").iterdir()] == ["thing"]


@pytest.mark.network
def test_synonyms_weigh_by_the_sense_they_share() -> None:
    weights = counterfitted.synonym_weights({"bad", "big", "tedious", "boring", "films", "movies"})
    assert weights["boring", "tedious"] > 0.1 > weights["bad", "big"]
    assert ("films", "movies") in weights


@pytest.mark.network
@pytest.mark.slow
def test_shipped_vectors_tell_synonyms_from_antonyms() -> None:
    before, after = load_vectors("glove"), load_vectors("counter-fitted")
    vocabulary = frozenset(after.words)
    synonyms, antonyms = counterfitted.synonym_weights(vocabulary), counterfitted.antonym_forms(vocabulary)
    assert median_cosine(before, antonyms) > median_cosine(before, synonyms)
    assert median_cosine(after, antonyms) < 0 < 0.3 < median_cosine(after, synonyms)
    for a, b in (("cheap", "expensive"), ("good", "bad"), ("east", "west"), ("love", "hate")):
        assert after.cosine(a, b) < 0.3 < before.cosine(a, b)
    for word, synonym in (
        ("film", "movie"),
        ("boring", "tedious"),
        ("awful", "dreadful"),
        ("funny", "amusing"),
    ):
        assert synonym in dict(after.neighbours(word, 50, 0.5))
    computed = Vectors(after.words, after.matrix).neighbours("awful", 50, 0.5)
    assert [word for word, _ in after.neighbours("awful", 50, 0.5)] == [word for word, _ in computed]


@pytest.mark.slow
@pytest.mark.skipif(not REFERENCE.exists(), reason="the published neighbours are not here")
def test_neighbours_agree_more_with_the_published_ones_than_those_of_glove() -> None:
    published = json.loads(REFERENCE.read_text("utf-8"))
    before, after = load_vectors("glove"), load_vectors("counter-fitted")
    words = [w for w in after.words[200:4000] if published.get(w)]

    def precision(vectors: Vectors) -> float:
        shares = []
        for word, found in vectors.neighbour_table(words, 8, 0.5).items():
            wanted = {other for other in published[word] if other in vectors}
            if wanted and found:
                top = [other for other, _ in found[: len(wanted)]]
                shares.append(len(wanted.intersection(top)) / len(top))
        return float(np.mean(shares))

    assert precision(after) > precision(before) + 0.05
    assert vector_files.TABLE_WIDTH >= 50
