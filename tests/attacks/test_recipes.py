"""Every recipe against a victim of keywords: what it may do, what it must not, and what it costs."""

from __future__ import annotations

import random
import re
import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from keyword_victim import ANTONYMS, NEIGHBOURS, FewNeighbours, KeywordVictim, services
from rapidfuzz.distance import Levenshtein

from unfooled.attacks import RECIPES, Answer, Asked, Example, Gradients, Limits, make_recipe
from unfooled.attacks.parts.ranking import deletion_importance
from unfooled.attacks.scheduler import run_attacks
from unfooled.attacks.text.deepwordbug import misspellings
from unfooled.lexicon.stopwords import is_stop_word
from unfooled.records.outcome import Outcome
from unfooled.words.document import Document
from unfooled.words.word import WORD, in_case_of

TEXTS: tuple[tuple[str, ...], ...] = (
    ("A gorgeous, WITTY film!",),
    ("The great story: it is a long film.",),
    ("it works ; a Great , new film (a long one)",),
    ("witty...",),
    ("a great film", "It was a Witty, new story."),
    ("gorgeous film , gorgeous story , gorgeous , witty , great -- it works , it is long",),
)
"""Positive to the keyword victim, with words that each recipe can change."""

REWRITES = ("deepwordbug", "negation")
"""Recipes that do not replace one word by one other word in its case."""


@pytest.fixture(autouse=True)
def few_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lexicon of a few words instead of the real one."""
    synonyms = {word: [near for near, _ in found] for word, found in NEIGHBOURS.items()}
    monkeypatch.setattr("unfooled.attacks.parts.candidates.load_vectors", lambda name: FewNeighbours())
    monkeypatch.setattr(
        "unfooled.attacks.text.pwws.raw_synonyms", lambda word: synonyms.get(word.casefold(), [])
    )
    monkeypatch.setattr(
        "unfooled.attacks.text.antonym.antonyms", lambda word: ANTONYMS.get(word.casefold(), ())
    )


def attack(
    name: str,
    texts: tuple[tuple[str, ...], ...] = TEXTS,
    victim: KeywordVictim | None = None,
    label: int = 1,
    seed: int = 0,
    in_flight: int = 64,
    label_names: tuple[str, ...] = (),
    settings: dict[str, Any] | None = None,
    **limits: Any,
) -> list[Outcome]:
    victim = victim or KeywordVictim()
    outcomes = run_attacks(
        [Example(row, text, label) for row, text in enumerate(texts)],
        make_recipe(name, settings),
        services(victim),
        limits=Limits(**limits),
        seed=seed,
        randomised=victim.randomised,
        label_names=label_names,
        in_flight=in_flight,
    )
    found = sorted(outcomes, key=lambda outcome: outcome.row)
    assert [outcome.message for outcome in found if outcome.status == "error"] == []
    return [replace(outcome, seconds=0.0) for outcome in found]


def successes(outcomes: list[Outcome]) -> list[Outcome]:
    """The successes, of which there must be some: a test of none would prove nothing."""
    found = [outcome for outcome in outcomes if outcome.status == "success"]
    assert found
    return found


@pytest.mark.parametrize("name", RECIPES)
def test_a_success_is_one_to_the_victim(name: str) -> None:
    for outcome in successes(attack(name)):
        assert outcome.perturbed is not None and outcome.perturbed != outcome.original
        answer = KeywordVictim().answer(Asked(outcome.perturbed))
        assert (answer.label, answer.scores) == (outcome.label, outcome.scores)
        assert (answer.label == outcome.first_label) == (RECIPES[name].goal == "obstinate")


@pytest.mark.parametrize("name", RECIPES)
def test_only_the_changed_words_differ(name: str) -> None:
    for outcome in successes(attack(name)):
        assert outcome.perturbed is not None
        texts = list(outcome.original)
        for change in sorted(outcome.changes, key=lambda change: -change.start):
            text = texts[change.which]
            assert text[change.start : change.end] == change.before
            texts[change.which] = text[: change.start] + change.after + text[change.end :]
        assert [text.split() for text in texts] == [text.split() for text in outcome.perturbed]
        for before, after in zip(outcome.original, outcome.perturbed, strict=True):
            assert WORD.sub("", before).split() == WORD.sub("", after).split()
        if name not in REWRITES:
            for change in outcome.changes:
                assert change.after == in_case_of(change.before, change.after)
                assert not is_stop_word(change.before)
                assert re.fullmatch(WORD, change.after)


@pytest.mark.parametrize("name", RECIPES)
def test_protected_words_and_the_other_sentence_stay(name: str) -> None:
    protect = ("great", "is", "was")
    for outcome in successes(attack(name, protect=protect, sentence="second")):
        assert not {change.before.casefold() for change in outcome.changes} & set(protect)
        assert all(change.which == len(outcome.original) - 1 for change in outcome.changes)


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("share", [0.1, 0.4])
def test_no_more_words_change_than_allowed(name: str, share: float) -> None:
    for outcome in successes(attack(name, victim=KeywordVictim(bias=1.0), max_changed=share)):
        assert 1 <= len(outcome.changes) <= max(1, int(share * outcome.words))


@pytest.mark.parametrize("name", RECIPES)
def test_the_same_seed_gives_the_same_attack(name: str) -> None:
    assert attack(name) == attack(name, in_flight=1) == attack(name, in_flight=2)
    random.seed(1)
    assert attack(name, seed=3) == attack(name, seed=3)


@pytest.mark.parametrize("name", RECIPES)
def test_queries_are_counted_and_paid_once(name: str) -> None:
    for text in TEXTS:
        victim = KeywordVictim()
        (outcome,) = attack(name, (text,), victim)
        assert len(victim.seen) == len({one.query for one in victim.seen}) <= outcome.forwards
        assert outcome.forwards <= outcome.queries or "expected" in RECIPES[name].needs


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("budget", [1, 2, 3, 5, 8, 13])
def test_the_budget_is_kept(name: str, budget: int) -> None:
    for outcome in attack(name, query_budget=budget):
        assert outcome.queries <= budget
        assert outcome.status in ("success", "failed", "not-attackable")
        if outcome.budget_spent:
            assert outcome.queries == budget


@pytest.mark.full
@pytest.mark.parametrize("name", RECIPES)
def test_memory_is_bounded_by_the_budget_however_long_the_text_is(name: str) -> None:
    text = "gorgeous film , it is a long story " * 80
    attack(name, (("a gorgeous long film",),))  # imports and caches
    tracemalloc.start()
    try:
        (outcome,) = attack(name, ((text,),), query_budget=10)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (outcome.queries, outcome.budget_spent) == (10, True)
    assert peak < 1_000_000  # one document a word would be 25 MB


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("text", ["!!! 😀 …", "the of and", "zzyzx", "x"])
def test_where_nothing_can_change_nothing_is_attacked(name: str, text: str) -> None:
    (outcome,) = attack(name, ((text,),), label=0)
    if (name, text) in {("deepwordbug", "zzyzx"), ("bae", "zzyzx"), ("bae", "x")}:
        assert outcome.status == "failed"
    else:
        assert (outcome.status, outcome.queries) == ("not-attackable", 1)


@pytest.mark.parametrize("name", RECIPES)
def test_a_randomised_victim_is_attacked_too(name: str) -> None:
    outcomes = attack(name, victim=KeywordVictim(randomised=True, wrong=0.1), fresh_predictions=5)
    assert all(outcome.fresh_total == 5 for outcome in successes(outcomes))


@pytest.mark.parametrize("name", ["antonym", "negation"])
@pytest.mark.parametrize(
    ("names", "attacked"),
    [
        ((), True),
        (("contradiction", "entailment"), True),
        (("entailment", "Neutral", "contradiction"), False),
        (("not_duplicate", "duplicate"), True),
        (("equivalent", "not_equivalent"), False),
        (("negative", "positive"), True),
    ],
)
def test_obstinate_attacks_leave_labels_that_a_change_of_meaning_keeps(
    name: str, names: tuple[str, ...], attacked: bool
) -> None:
    (outcome,) = attack(name, (("a great long film", "it is long"),), label_names=names)
    assert (outcome.status == "not-attackable") == (not attacked)


def test_antonym_changes_exactly_one_word_and_tries_the_most_important_first() -> None:
    (outcome,) = attack("antonym", (("a gorgeous , long , great film",),))
    # «great» → «awful» turns the label (1.75 → −1.75 + …), «long» → «short» does not.
    assert [(change.before, change.after) for change in outcome.changes] == [("long", "short")]
    assert outcome.queries == 1 + 2 + 1 + 1  # the original, two deletions, «awful», «short»
    (outcome,) = attack("antonym", (("a gorgeous , long , great film",),), settings={"words": 1})
    assert (outcome.status, outcome.queries) == ("failed", 1 + 2 + 1)


def test_where_no_antonym_keeps_the_part_of_speech_nothing_was_attacked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("unfooled.attacks.text.antonym.antonyms", lambda word: ("works",))
    (outcome,) = attack("antonym", (("a gorgeous , long film",),))
    assert (outcome.status, outcome.queries) == ("not-attackable", 1)
    assert "part of speech" in outcome.message


@pytest.mark.parametrize(
    "name",
    [name for name in RECIPES if RECIPES[name].goal == "fickle" and "similarity" in RECIPES[name].needs],
)
def test_an_attack_that_the_constraints_left_nothing_to_try_says_so(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (("gorgeous film , witty story",),)
    (outcome,) = attack(name, text, KeywordVictim(bias=-9))
    assert (outcome.status, outcome.tried) == ("failed", True)
    monkeypatch.setattr("keyword_victim.similarity", lambda pairs: [0.1 for _ in pairs])
    (outcome,) = attack(name, text)
    assert (outcome.status, outcome.tried, outcome.budget_spent) == ("failed", False, False)


@pytest.mark.parametrize("name", ["pwws", "deepwordbug", "antonym", "negation"])
def test_queries_that_rank_words_try_nothing(name: str) -> None:
    (outcome,) = attack(name, (("a gorgeous , long film , it is great",),))
    assert (outcome.status, outcome.tried) == ("success", True)
    (outcome,) = attack(name, (("a gorgeous , long film , it is great",),), query_budget=2)
    assert outcome.tried == (name == "negation")  # the others have ranked one word by then


def test_negation_adds_or_removes_one() -> None:
    texts = (("a gorgeous film , it is not long",), ("a gorgeous film , it works",))
    removed, added = attack("negation", texts)
    assert removed.perturbed == ("a gorgeous film , it is long",)
    assert added.perturbed in (
        ("a gorgeous film , it doesn't work",),
        ("a gorgeous film , it does not work",),
    )


def test_textfooler_takes_the_most_similar_of_the_flipping_candidates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def similar(pairs: list[tuple[str, str]]) -> list[float]:
        return [0.99 if "lavish" in after else 0.7 if "splendid" in after else 0.95 for _, after in pairs]

    monkeypatch.setattr("keyword_victim.similarity", similar)
    (outcome,) = attack("textfooler", (("gorgeous film",),), KeywordVictim(bias=0.25))
    assert outcome.perturbed == ("lavish film",)  # «splendid» is too far away, «wonderful» still positive
    assert outcome.queries == 1 + 2 + 2


def test_deletion_importance_adds_the_rise_of_the_new_class() -> None:
    before = Answer((0.1, 0.7, 0.2), 1)
    assert deletion_importance(before, Answer((0.2, 0.5, 0.3), 1), 1) == pytest.approx(0.2)
    assert deletion_importance(before, Answer((0.2, 0.3, 0.5), 2), 1) == pytest.approx(0.4 + 0.3)
    assert deletion_importance(before, Answer((0.2, 0.3, 0.5), 2, abstained=True), 1) == pytest.approx(0.4)


def test_pwws_asks_as_often_as_textattack() -> None:
    """Unknown token for each word, each synonym once, then word by word again in the text so far."""
    (outcome,) = attack("pwws", (("a gorgeous witty film",),))
    # 1 original, 3 unknown, 3 + 2 + 2 synonyms, «gorgeous» again (3), «witty» again (2): flipped.
    assert [change.before for change in outcome.changes] == ["gorgeous", "witty"]
    assert outcome.queries == 1 + 3 + 7 + 3 + 2


def test_a2t_ranks_by_the_mean_gradient_and_changes_few_words() -> None:
    text = "gorgeous film story witty great " * 4
    outcomes = attack("a2t", ((text,),), KeywordVictim(bias=1.0), settings={"min_words": 1})
    assert outcomes[0].status == "failed"
    (few,) = attack("a2t", (("film witty story gorgeous",),), KeywordVictim(bias=1.6))
    assert [change.before for change in few.changes] == ["gorgeous"]
    gradients = Gradients(np.array([[1.0, -1.0], [1.0, -1.0]]), ((0, 0, 2), (0, 2, 4)))
    assert np.abs(gradients.of_span(0, 0, 4)).sum() == 4


def test_bae_asks_for_the_text_as_changed_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def fill(spans: list[tuple[str, int, int]], *, count: int) -> list[list[str]]:
        asked.extend(text[:start] + "_" + text[end:] for text, start, end in spans)
        return [["WITTY", "quiet"] for _ in spans]

    monkeypatch.setattr("keyword_victim.fill", fill)
    (outcome,) = attack("bae", (("great witty great film",),), KeywordVictim(bias=0.25))
    assert asked == ["_ witty great film", "quiet _ great film", "quiet quiet _ film"]
    assert outcome.perturbed == ("quiet quiet quiet film",)


def test_misspellings_are_one_edit_away_and_within_the_distance() -> None:
    rng = random.Random(0)
    for word in ("witty", "it's", "ab", "Gorgeous"):
        swap, *others = misspellings(word, rng)
        assert sorted(swap) == sorted(word) and Levenshtein.distance(word, swap) in (0, 2)
        assert all(Levenshtein.distance(word, other) <= 1 for other in others)
        assert [len(other) - len(word) for other in others] == [0, -1, 1]
    assert misspellings("a", rng) == []
    nothing_allowed, *found = (
        attack("deepwordbug", victim=KeywordVictim(bias=1.0), settings={"max_distance": epsilon})
        for epsilon in (0, 1, 3)
    )
    assert {outcome.status for outcome in nothing_allowed} == {"failed"}
    for epsilon, outcomes in zip((1, 3), found, strict=True):
        for outcome in successes(outcomes):
            assert outcome.perturbed is not None
            pairs = zip(outcome.original, outcome.perturbed, strict=True)
            assert 0 < sum(Levenshtein.distance(before, after) for before, after in pairs) <= epsilon


def test_random_keeps_what_it_draws() -> None:
    wins = [sum(one.status == "success" for one in attack("random", seed=seed)) for seed in range(10)]
    searched = len(successes(attack("textfooler")))
    assert sum(wins) / len(wins) <= searched
    outcomes = [attack("random", (("great film story",),), seed=seed)[0] for seed in range(10)]
    assert len({outcome.perturbed for outcome in outcomes}) > 1


def test_words_at_the_edge_of_the_similarity_window_do_not_matter() -> None:
    long = "film " * 30 + "witty"
    (outcome,) = attack("textfooler", ((long,),), KeywordVictim(bias=1.0))
    assert outcome.perturbed == ("film " * 30 + "clever",)
    assert Document.of(long).words[-1] == "witty"
