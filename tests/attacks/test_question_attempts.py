"""Attacks on one question: what may change, when an answer is lost, which copy is the worst."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiny_attacks import Swap
from unfooled.attacks import Answer, Asked, Limits, Outcome, make_recipe, run_attacks
from unfooled.attacks.questions.add_sent import distracted
from unfooled.attacks.questions.distraction import AddOneSent, AddSent
from unfooled.attacks.questions.question_attempt import QuestionAttempt, QuestionExample
from unfooled.attacks.questions.right_answers import AnswerRule, QuestionQuery, judged
from unfooled.attacks.registry import any_recipe, for_questions, for_texts, recipes_for
from unfooled.errors import UsageError
from unfooled.records.decision import Decision

CONTEXT = "Broncos fans cheered. The Denver Broncos won the final in Santa Clara, said a Denver paper."
EXAMPLE = QuestionExample(
    1,
    ("Which Denver team won?", CONTEXT),
    0,
    id="q1",
    paragraph="p",
    answers=(("Denver Broncos", 26), ("The Denver Broncos", 22)),
)


class Reader:
    """Answers with a span that a rule finds; notes what it was asked."""

    def __init__(self, rule: Any, *, noise: bool = False) -> None:
        self.rule, self.noise, self.asked = rule, noise, list[QuestionQuery]()

    def answers(self, asked: Sequence[Asked[QuestionQuery]]) -> list[Answer]:
        found = []
        for one in asked:
            self.asked.append(one.query)
            spans = self.rule(one.query.context, random.Random(one.key))
            texts = [one.query.context[start:end] for start, end in spans]
            shares = [0.75, *[0.25 / max(1, len(spans) - 1)] * (len(spans) - 1)] if len(spans) > 1 else [1.0]
            decision = Decision(label=0, scores=tuple(shares), answers=tuple(spans), forwards=1)
            found.append(judged(one.query, decision, texts))
        return found


def always_right(context: str, draw: random.Random) -> list[tuple[int, int]]:
    at = context.index("Denver Broncos")
    return [(at, at + len("Denver Broncos")), (0, 3)]


def attacked(victim: Reader, recipe: Any, example: QuestionExample = EXAMPLE, **limits: Any) -> Outcome:
    randomised = victim.noise
    (found,) = run_attacks(
        [example],
        recipe,
        {"victim": victim.answers},
        limits=Limits(**limits),
        randomised=randomised,
        begin=QuestionAttempt,
    )
    return found


@pytest.mark.parametrize("recipe", [Swap(), make_recipe("deepwordbug")], ids=lambda one: one.name)
def test_the_question_and_every_right_answer_stay_whatever_is_tried(recipe: Any) -> None:
    victim = Reader(always_right)
    outcome = attacked(victim, recipe, protect=("Santa Clara",))
    assert outcome.status == "failed" and outcome.tried and len(victim.asked) > 8
    assert any("cheered" not in query.context for query in victim.asked), "other words change"
    for query in victim.asked:
        assert query.question == EXAMPLE.texts[0]
        assert "The Denver Broncos" in query.context, "the place of an answer"
        assert "Santa Clara" in query.context, "what the user protects"
    swapped = victim.asked[-1].context
    if recipe.name == "swap":
        assert swapped.startswith("Thing thing thing. The Denver Broncos thing thing thing thing Santa Clara")


@given(
    words=st.lists(st.sampled_from(["film", "War", "it's", "é́", "won", "Denver"]), min_size=2, max_size=12),
    data=st.data(),
)
@settings(max_examples=40)
def test_no_word_that_an_answer_touches_is_changeable(words: list[str], data: st.DataObject) -> None:
    context = " ".join(words)
    start = data.draw(st.integers(0, len(context) - 1))
    end = data.draw(st.integers(start + 1, len(context)))
    example = replace(EXAMPLE, texts=("film?", context), answers=((context[start:end], start),))
    attempt = QuestionAttempt(example, Limits(), 0, False)
    for number, (which, first, last) in enumerate(attempt.original.spans):
        if number in attempt.changeable:
            assert which == 1 and (last <= start or end <= first)
    assert attempt.size == len(attempt.original) - 1


def test_another_place_where_a_right_answer_stands_is_protected_too() -> None:
    example = replace(EXAMPLE, texts=("Who won?", "ann won. then ANN sang."), answers=(("ann", 0),))
    attempt = QuestionAttempt(example, Limits(), 0, False)
    assert [attempt.original.words[number] for number in attempt.changeable] == ["won", "then", "sang"]


@pytest.mark.parametrize(
    ("answer", "exact", "f1"),
    [
        ("the denver broncos", True, True),  # articles and case do not count
        ("Denver Broncos won the final", False, True),  # F1 2·2/(2+4) = 0.67
        ("Broncos", False, True),  # 0.67
        ("Denver paper said so", False, False),  # 0.33
        ("Santa Clara", False, False),
        ("", False, False),
    ],
)
def test_when_an_answer_is_right(answer: str, exact: bool, f1: bool) -> None:
    truth = EXAMPLE.truth
    assert AnswerRule().right(answer, truth) is exact
    assert AnswerRule("f1").right(answer, truth) is f1
    assert AnswerRule("f1", 0.7).right(answer, truth) is exact
    assert AnswerRule().right("", ()) and not AnswerRule().right(answer or "x", ())


def test_the_score_is_the_mean_worth_of_the_answers_that_are_compared() -> None:
    texts = ["Denver Broncos", "Broncos", "Santa Clara"]
    spans = ((26, 40), (33, 40), (58, 69))
    decision = Decision(label=1, scores=(0.3, 0.6, 0.1), answers=spans)
    query = QuestionQuery(*EXAMPLE.texts, ("Denver Broncos",), AnswerRule())
    found = judged(query, decision, texts)
    assert found.scores == (0.3, 0.7) and found.label == 1
    assert found.given is not None and found.given.span == (33, 40)
    assert found.given.f1 == pytest.approx(2 / 3) and found.given.exact_match == 0
    by_f1 = judged(query._replace(rule=AnswerRule("f1")), decision, texts)
    assert by_f1.scores[0] == pytest.approx(0.3 + 0.6 * 2 / 3) and by_f1.label == 0
    quiet = judged(query, replace(decision, abstained=True), texts)
    assert quiet.given is not None and quiet.abstained and quiet.given.f1 == 0


def at_the_end(context: str, draw: random.Random) -> list[tuple[int, int]]:
    """Right on the clean context; a distractor with «Packers» takes all of it, another a part."""
    if "Packers" in context:
        at = context.index("Packers")
        return [(at, at + 7)]
    if "Detroit" in context:
        return [(33, 40)]
    return always_right(context, draw)


def test_addsent_takes_the_copy_with_the_worst_answer() -> None:
    sentences = ("It rained.", "The team of Detroit lost.", "The Packers won the race.", "Packers sang.")
    outcome = attacked(Reader(at_the_end), AddSent(), replace(EXAMPLE, sentences=sentences))
    assert outcome.status == "success" and outcome.queries == 5
    change, context = outcome.question, (outcome.perturbed or ("", ""))[1]
    assert change is not None and change.added is not None and change.after is not None
    assert context[slice(*change.added)] == sentences[2] and context.startswith(CONTEXT)
    assert (change.before and change.before.f1, change.after.f1, change.copies) == (1.0, 0.0, 4)
    part = attacked(
        Reader(at_the_end), AddSent(), replace(EXAMPLE, sentences=sentences[:2]), success="f1", f1_below=0.5
    )
    assert part.status == "failed" and part.perturbed is None
    assert part.question is not None and part.question.after is not None
    assert part.question.after.f1 == pytest.approx(2 / 3), "a failed attack counts with its worst copy"


def test_a_question_that_cannot_be_changed_is_not_attackable() -> None:
    outcome = attacked(Reader(always_right), AddOneSent(), replace(EXAMPLE, sentences=()))
    assert outcome.status == "not-attackable" and "no word of the question" in outcome.message
    whole = replace(EXAMPLE, texts=("Who?", "Denver Broncos"), answers=(("Denver Broncos", 0),))
    assert attacked(Reader(always_right), Swap(), whole).status == "not-attackable"
    added = attacked(Reader(at_the_end), AddOneSent(), replace(whole, sentences=("Packers won.",)))
    assert added.status == "success", "a sentence is added even where no word may change"


def test_successes_on_a_randomised_reader_are_asked_again_and_never_cached() -> None:
    def sometimes(context: str, draw: random.Random) -> list[tuple[int, int]]:
        wrong = "sang" in context and draw.random() < 0.3
        return [(0, 7)] if wrong else always_right(context, draw)

    sentences = tuple(f"Packers sang {number}." for number in range(9))
    victim = Reader(sometimes, noise=True)
    outcome = attacked(victim, AddSent(), replace(EXAMPLE, sentences=sentences), fresh_predictions=25)
    assert outcome.status == "success" and outcome.fresh_total == 25 and not outcome.verified
    assert outcome.perturbed is not None and outcome.question is not None
    asked = [query.context for query in victim.asked]
    assert asked.count(outcome.perturbed[1]) == 26
    assert outcome.fresh_successes is not None and 0 < outcome.fresh_successes < 13
    # «Broncos» instead of «Denver Broncos» has 2/3 of its F1.
    lost = outcome.fresh_successes / 25
    assert outcome.question.fresh_f1 == pytest.approx(1 - lost / 3)
    assert outcome.question.fresh_exact_match == pytest.approx(1 - lost)


def test_sentences_are_added_at_the_end_with_one_space() -> None:
    for context in ("A b.", "A b. ", "A b.\n"):
        longer, (start, end) = distracted(context, "New one.")
        assert longer.startswith(context) and longer[start:end] == "New one." and end == len(longer)
        assert longer[start - 1].isspace() and not longer[start - 2].isspace()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("antonym", "the right answer is protected"),
        ("negation", "the right answer is protected"),
        ("a2t", "gradient of a class"),
        ("adaptive", "gradient of a class"),
        ("pgd-linf", "attacks images, and this victim reads questions"),
    ],
)
def test_recipes_without_a_meaning_for_questions_are_refused(name: str, why: str) -> None:
    assert name not in recipes_for("question")
    with pytest.raises(UsageError, match=f"{name} .*{why}.*textfooler, pwws, bae, deepwordbug"):
        for_questions(any_recipe(name))


def test_recipes_for_questions_are_refused_for_texts() -> None:
    with pytest.raises(UsageError, match="addsent attacks questions, and this victim reads texts"):
        for_texts(any_recipe("addsent"))
    with pytest.raises(UsageError, match=r"--f1-below 0\.3 is for --success f1"):
        Limits(f1_below=0.3)
