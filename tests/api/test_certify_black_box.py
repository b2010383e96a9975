"""Certificates of anything that answers: sound for the exact majority, refused where answers are random."""

from __future__ import annotations

import inspect
import itertools
import math
import pickle
import random
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from rapidfuzz.distance import Levenshtein

import unfooled as uf
from unfooled.attacks import Answer, Asked
from unfooled.attacks.victims.scores import HARMLESS
from unfooled.certificates.sampling import Sampling
from unfooled.errors import QueriesSpent, UsageError, UserError
from unfooled.statistics.bounds import deletion_edits
from unfooled.work.executor import packed

FEW = Sampling(n0=50, n=2000)
certify = partial(uf.certify, reading=uf.Reading(antonyms=False))


def keyword(texts: list[str]) -> list[list[float]]:
    """Class 1 exactly if «good» is among the words."""
    return [[0.1, 0.9] if "good" in text.split() else [0.9, 0.1] for text in texts]


def last_word(texts: list[str]) -> list[list[float]]:
    """Class 1 exactly if the last word is «good»; the empty text has none."""
    return [[0.2, 0.8] if text.endswith("good") else [0.7, 0.3] for text in texts]


def most_words(texts: list[str]) -> list[list[float]]:
    """Class 1 if more than half of the words are «good»."""
    shares = [text.split().count("good") / max(1, len(text.split())) for text in texts]
    return [[1 - share, share] for share in shares]


def exact_share(function: Any, words: Sequence[str], rate: float, label: int) -> float:
    """The probability of the label over all deletions, computed, not sampled."""
    flags = list(itertools.product((False, True), repeat=len(words)))
    texts = [" ".join(word for word, kept in zip(words, own, strict=True) if kept) for own in flags]
    given = [max(range(2), key=row.__getitem__) for row in function(texts)]
    chances = [math.prod(1 - rate if kept else rate for kept in own) for own in flags]
    return sum(chance for chance, found in zip(chances, given, strict=True) if found == label)


def within(words: tuple[str, ...], radius: float, *, replaced_only: bool) -> Iterator[tuple[str, ...]]:
    for size in range(len(words) + int(radius) + 1):
        if replaced_only and size != len(words):
            continue
        for text in itertools.product(("good", "film", "a"), repeat=size):
            if replaced_only:
                near = sum(a != b for a, b in zip(words, text, strict=True)) <= radius
            else:
                near = Levenshtein.distance(words, text) <= radius
            if near:
                yield text


@pytest.mark.parametrize("function", [keyword, last_word, most_words])
@pytest.mark.parametrize("threat", ["words", "edits"])
@pytest.mark.parametrize("text", ["a film", "good good good", "film good"])
def test_no_text_inside_the_radius_has_another_exact_majority(function: Any, threat: str, text: str) -> None:
    rate = 0.8
    choice = {"name": "random-delete", "rates": [rate]}
    (found,) = certify(function, [text], threat=threat, predictor=choice, sampling=FEW)
    if found.status != "certified":
        assert exact_share(function, text.split(), rate, int(found.leader or 0)) < 0.6
        return
    seen = 0
    for near in within(tuple(text.split()), found.radius, replaced_only=threat == "words"):
        seen += 1
        assert exact_share(function, near, rate, int(found.label or 0)) > 0.5, near
    assert seen >= 1
    assert found.radius > 0 or exact_share(function, text.split(), rate, int(found.label or 0)) < 0.9


def test_the_radius_is_attained() -> None:
    """One more «good» than the radius allows turns the majority: the bound is not only safe."""
    choice = {"name": "random-delete", "rates": [0.8]}
    (found,) = certify(keyword, ["a film"], threat="edits", predictor=choice, sampling=FEW)
    assert found.radius == deletion_edits(0.001 ** (1 / 2000), 0.8) == 3
    assert exact_share(keyword, ["good"] * 3 + ["a", "film"], 0.8, 0) > 0.5
    assert exact_share(keyword, ["good"] * 4 + ["a", "film"], 0.8, 0) < 0.5


class Masked:
    """A victim with a mask token: class 1 if «good» is shown."""

    labels, randomised, mask_token = ("no", "yes"), False, "[MASK]"

    def answers(self, asked: Sequence[Asked]) -> list[Answer]:
        rows = keyword([one.query[0] for one in asked])
        return [Answer(tuple(row), int(row[1] > row[0])) for row in rows]

    def describe(self) -> dict[str, object]:
        return {"kind": "masked", "spec": "masked"}


def test_a_victim_with_a_mask_token_is_certified_for_words_by_masks() -> None:
    text = "a film about a plot and so on and on and on"
    report = certify(Masked(), [text], threat="words", sampling=FEW)
    found = report[0]
    assert "The majority of masked over random masks on words answers «no»" in found.sentence
    assert found.bound == "masking" and found.radius >= 1
    # 4 of 12 words are shown: replacing r by «good» leaves the majority while fewer than half show one.
    shown = 1 - math.comb(12 - int(found.radius), 4) / math.comb(12, 4)
    assert shown < 0.5


def test_the_sentence_and_the_note_say_whose_majority_it_is() -> None:
    report = certify(uf.as_victim(keyword, ["no", "yes"]), ["a film"], threat="edits", sampling=FEW)
    assert report[0].sentence.startswith("The majority of")
    assert certify(keyword, ["a film"], sampling=FEW)[0].threat == "edits"  # where none is named
    assert "keyword over random deletions of words answers «no»" in report[0].sentence
    assert any("unfooled.smoothed(victim, predictor=" in note for note in report.notes)


def test_synonyms_need_only_answers(tmp_path: Path) -> None:
    table = tmp_path / "synonyms.json"
    table.write_text('{"fine": ["good"], "film": ["movie"]}')
    choice = {"name": "safer", "table": str(table)}

    def movies(texts: list[str]) -> list[list[float]]:
        return [[0.9, 0.1] if "film" in text or "movie" in text else [0.1, 0.9] for text in texts]

    (found,) = certify(movies, ["a fine film"], threat="synonyms", predictor=choice, sampling=FEW)
    assert (found.label, found.radius) == ("0", 2)


def test_equal_versions_are_asked_once_and_adaptive_asks_less() -> None:
    asked: list[str] = []

    def watched(texts: list[str]) -> list[list[float]]:
        asked.extend(texts)
        return keyword(texts)

    choice = {"name": "random-delete", "rates": [0.5]}
    (full,) = certify(watched, ["a b c"], threat="words", predictor=choice, sampling=FEW)
    assert full.samples == 2050
    versions = {" ".join(own) for size in range(4) for own in itertools.combinations("abc", size)}
    assert set(asked) - {HARMLESS} == versions  # what is left, joined by single spaces
    assert len(asked) < 60  # eight versions in each of two rounds, and those that are checked again
    (early,) = certify(
        watched, ["a b c"], threat="words", predictor=choice, sampling=Sampling(n=2000, adaptive=True)
    )
    assert early.samples < full.samples and early.label == full.label


# Random answers and answers that depend on other texts


def test_a_victim_that_says_it_is_randomised_is_refused_by_name() -> None:
    victim = uf.as_victim(keyword, ["no", "yes"], randomised=True)
    with pytest.raises(UsageError, match=r"keyword is randomised"):
        certify(victim, ["a film"], threat="edits", sampling=FEW)


@pytest.mark.parametrize("share", [1.0, 0.2])
def test_random_answers_are_refused_by_name(share: float) -> None:
    chance = random.Random(0)

    def sampling(texts: list[str]) -> list[list[float]]:
        shaken = [chance.random() if chance.random() < share else 0.3 for _ in texts]
        return [[1 - one, one] for one in shaken]

    long = [" ".join(f"w{number}" for number in range(40))]
    choice = {"name": "random-delete", "rates": [0.5]}
    with pytest.raises(UsageError, match=r"sampling.*two different answers.*same answer to a text"):
        certify(sampling, long, threat="words", predictor=choice, sampling=FEW)


def test_answers_that_become_random_later_are_refused_too() -> None:
    """The first batch is honest; one row of every batch is asked again."""
    chance, calls = random.Random(0), itertools.count()

    def late(texts: list[str]) -> list[list[float]]:
        random_now = next(calls) > 12
        return [[1 - p, p] for p in (chance.random() if random_now else 0.3 for _ in texts)]

    long = [" ".join(f"w{number}" for number in range(40))]
    choice = {"name": "random-delete", "rates": [0.5]}
    with pytest.raises(UsageError, match=r"late.*another answer"):
        certify(late, long, threat="words", predictor=choice, sampling=FEW)


def test_texts_that_see_each_other_are_refused() -> None:
    def leaking(texts: list[str]) -> list[list[float]]:
        share = sum(len(text) for text in texts) / len(texts) / 200
        return [[1 - share, share] for _ in texts]

    long = [" ".join(f"w{number}" for number in range(40))]
    with pytest.raises(UsageError, match=r"leaking.*in a batch than alone"):
        certify(leaking, long, threat="edits", sampling=FEW)


def test_a_function_that_fails_on_the_empty_text_is_told_and_empty_gives_its_label() -> None:
    def strict(texts: list[str]) -> list[list[float]]:
        if not all(texts):
            raise ValueError("empty text")
        return keyword(texts)

    with pytest.raises(UserError, match=r"strict did not answer.*ValueError: empty text.*empty=LABEL"):
        certify(strict, ["a film"], threat="edits", sampling=FEW)
    smoothed = uf.smoothed(uf.as_victim(strict, ["no", "yes"]), empty="no")
    assert certify(smoothed, ["a film"], threat="edits", sampling=FEW)[0].label == "no"
    with pytest.raises(UsageError, match="no label 'maybe'"):
        uf.smoothed(uf.as_victim(strict, ["no", "yes"]), empty="maybe")


def test_what_needs_the_inside_of_a_model_is_refused() -> None:
    with pytest.raises(UsageError, match=r"--threat l2 is about the embeddings.*shows only its answers"):
        certify(keyword, ["a film"], threat="l2", sampling=FEW)
    with pytest.raises(UsageError, match=r"'plain' needs more.*random-delete"):
        uf.smoothed(keyword, predictor="plain")
    with pytest.raises(UsageError, match="no mask token"):
        uf.smoothed(keyword, predictor="random-mask")


# Budgets


def in_a_file(folder: Path) -> str:
    """``keyword``, where another process finds it."""
    (folder / "victim.py").write_text(inspect.getsource(keyword))
    return f"{folder / 'victim.py'}:keyword"


TEXTS = uf.Inputs(texts=[f"a film number {number}" for number in range(6)])


def test_a_budget_that_ends_keeps_what_is_done_and_the_next_call_goes_on(tmp_path: Path) -> None:
    spec, few = in_a_file(tmp_path), Sampling(n0=50, n=500)

    def run(folder: Path, **more: Any) -> Any:
        return certify(spec, TEXTS, threat="edits", sampling=few, out=folder, **more)

    parts = [run(tmp_path / "parts", max_queries=120)]
    assert 0 < len(parts[0]) < 6 and not parts[0].about["complete"]
    while not parts[-1].about["complete"]:
        parts.append(run(tmp_path / "parts", max_queries=120))
        assert len(parts[-1]) > len(parts[-2])
    whole = run(tmp_path / "whole")
    same = [[(one.row, one.radius, one.votes) for one in report] for report in (parts[-1], whole)]
    assert same[0] == same[1]
    told: list[Any] = []
    run(tmp_path / "told", progress=told.append)
    asked = [one.queries for one in told]
    assert asked == sorted(asked) and asked[-1] > 0 and len(set(asked)) > len(TEXTS.texts or ())
    with pytest.raises(QueriesSpent, match="budget of 10 queries"):
        run(tmp_path / "none", max_queries=10)
    with pytest.raises(UsageError, match="leave out workers"):
        run(tmp_path / "workers", max_queries=1000, workers=2)


class Elsewhere:
    """Opens the spec as another process would, from its bytes, without the time a process takes to start."""

    in_process = False

    def run(self, spec: Any, pieces: Any, *, count: int, name: Any) -> Iterator[Any]:
        yield from pickle.loads(packed(spec)).open(count).run(pieces)


def test_another_process_opens_the_victim_and_finds_the_same_certificates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = Sampling(n0=20, n=200)
    clf = uf.smoothed(in_a_file(tmp_path), predictor={"name": "random-delete", "rates": [0.7]}, empty="0")
    victims = (in_a_file(tmp_path), clf)

    def votes(victim: Any) -> list[Any]:
        return [one.votes for one in certify(victim, TEXTS, threat="edits", sampling=few)]

    alone = [votes(victim) for victim in victims]
    monkeypatch.setattr("unfooled.api.certify.make_executor", lambda *_: Elsewhere())
    assert [votes(victim) for victim in victims] == alone
    with pytest.raises(UsageError, match="cannot find"):
        votes(lambda texts: keyword(texts))
    monkeypatch.setattr("unfooled.api.attack.make_executor", lambda *_: Elsewhere())
    labelled = uf.Inputs(texts=["a film and a plot"], labels=[0])
    report = uf.attack(clf, labelled, recipe="deepwordbug", tools=uf.Tools(validity=False))
    assert report.summary["counts"]["failed"] == 1


# The deployed majority


def test_the_deployed_majority_votes_abstains_and_keeps_its_promise() -> None:
    clf = uf.smoothed(
        uf.as_victim(keyword, ["no", "yes"]), predictor={"name": "random-delete", "rates": [0.6]}
    )
    clear, close = clf.predict(["a film", "good good film"])
    assert clear.label == "no" and clear.votes[0]["no"] == 20
    assert 0 < close.votes[0]["yes"] < 20
    # 1 − 0.6² = 0.64 of the versions show «good». The seed is secret, so an error rate that no run will see.
    answers = clf.predict(["good good film"] * 20, certified=True, error_rate=1e-6, max_votes=5000)
    assert {one.label for one in answers} == {"yes"}
    tie = uf.smoothed(keyword, predictor={"name": "random-delete", "rates": [0.5]})
    assert tie.predict(["good film"], certified=True, max_votes=200)[0].abstained
    with pytest.raises(UsageError, match="secret seed"):
        clf.predict(["a film"], certified=True, seed=3)
    assert uf.predict(clf, ["a film"], certified=True)[0].label == "no"


def test_the_deployed_majority_is_certified_and_attacked() -> None:
    clf = uf.smoothed(
        uf.as_victim(keyword, ["no", "yes"]), predictor={"name": "random-delete", "rates": [0.9]}
    )
    (found,) = certify(clf, ["a film"], threat="edits", sampling=FEW)
    assert found.label == "no" and found.radius == 6
    report = uf.attack(
        clf,
        uf.Inputs(texts=["a film and a plot"], labels=["no"]),
        recipe="deepwordbug",
        tools=uf.Tools(validity=False),
    )
    assert report.summary["counts"]["failed"] == 1
    with pytest.raises(UsageError, match="only answers"):
        uf.attack(clf, uf.Inputs(texts=["a film"], labels=["no"]), recipe="adaptive")


def test_attacks_inside_the_radius_never_turn_the_exact_majority() -> None:
    """Random edits of every kind, as many as the radius allows, against the computed majority."""
    chance, rate = random.Random(1), 0.8
    choice = {"name": "random-delete", "rates": [rate]}
    texts = ["a film", "good good good good", "the plot of a film", "good film"]
    tried = 0
    for found in certify(most_words, texts, threat="edits", predictor=choice, sampling=FEW):
        for _ in range(60 if found.radius else 0):
            words = found.texts[0].split()
            for _ in range(int(found.radius)):
                kind, place = chance.choice("idr"), chance.randrange(len(words) + 1)
                if kind == "i" or not words:
                    words.insert(place, chance.choice(["good", "bad"]))
                elif kind == "d":
                    del words[min(place, len(words) - 1)]
                else:
                    words[min(place, len(words) - 1)] = chance.choice(["good", "bad"])
            tried += 1
            assert exact_share(most_words, words, rate, int(found.label or 0)) > 0.5
    assert tried > 100
