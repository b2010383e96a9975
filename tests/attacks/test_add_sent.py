"""AddSent's sentences: another question with a fake answer of the same type; the right answer stays."""

from __future__ import annotations

import random

import pytest

from unfooled.api.inputs.generated_questions import with_copies
from unfooled.attacks.questions.add_sent import QuestionLexicon, distractors
from unfooled.attacks.questions.declaratives import statement
from unfooled.attacks.questions.fake_answers import FAKES, fake_answer
from unfooled.data.qa import AskedQuestion, GoldAnswer
from unfooled.data.qa.question_checks import with_paragraphs
from unfooled.errors import UserError
from unfooled.words.word import WORD

POS = {
    **dict.fromkeys(["Ann", "Rome", "Broncos", "Super", "Bowl"], "PROPN"),
    **dict.fromkeys(["won", "live", "born", "wrote", "build"], "VERB"),
    **dict.fromkeys(["did", "was", "is", "were"], "AUX"),
    **dict.fromkeys(["team", "people", "year", "capital", "bridge"], "NOUN"),
    "long": "ADJ",
    "50": "NUM",
}


def tags(text: str) -> list[tuple[int, int, str]]:
    words = [(found.start(), found.end(), POS.get(found[0], "X")) for found in WORD.finditer(text)]
    return [*words, (len(text) - 1, len(text), "PUNCT")] if text.endswith("?") else words


LEXICON = QuestionLexicon(
    tags,
    lambda word, pos: {"long": ["short"], "people": []}.get(word, []),
    lambda word: {"ann": ["eve", "kate"], "rome": ["milan"], "broncos": ["packers"]}.get(word, []),
)


@pytest.mark.parametrize(
    ("question", "answer", "expected"),
    [
        ("Who won Super Bowl 50", "Eve", "Eve won Super Bowl 50."),
        ("Where did Ann live", "Leeds", "Ann lived in Leeds."),
        ("When was Ann born", "May 1997", "Ann was born in May 1997."),
        ("Which team won Super Bowl 50", "Corvus", "The team of Corvus won Super Bowl 50."),
        ("How many people did Ann build", "ten", "Ann built ten people."),
        ("In which year did Ann live", "1874", "Ann lived in the year of 1874."),
        ("What is the capital", "Leeds", "Leeds is the capital."),
        ("Name the capital", "Leeds", "Leeds is the answer to Name the capital."),
    ],
)
def test_a_question_becomes_a_statement(question: str, answer: str, expected: str) -> None:
    words = question.split()
    assert statement(words, [POS.get(word, "X") for word in words], answer) == expected


@pytest.mark.parametrize(
    ("question", "answer", "kind"),
    [
        ("Who won?", "Peyton Manning", "person"),
        ("Where was it?", "Levi's Stadium", "place"),
        ("When was it?", "last spring", "time"),
        ("What is it?", "European Space Agency", "group"),
        ("What is it?", "green", "quality"),
    ],
)
def test_a_fake_answer_has_the_type_of_the_right_one(question: str, answer: str, kind: str) -> None:
    assert fake_answer(question, answer, random.Random(1)) in FAKES[kind]


@pytest.mark.parametrize("answer", ["1999", "February 7, 2016", "twelve", "3.5 million", "1,200"])
def test_numbers_and_dates_become_others_of_the_same_look(answer: str) -> None:
    found = fake_answer("How many?", answer, random.Random(2))
    assert found != answer and len(found.split()) == len(answer.split())
    assert any(letter.isdigit() for letter in found) == any(letter.isdigit() for letter in answer)


def test_distractors_change_the_question_and_never_tell_the_right_answer() -> None:
    found = distractors("Where did Ann live?", ["Rome"], count=4, key="a", lexicon=LEXICON)
    assert len(found) == 4 == len(set(found))
    assert all("Ann" not in sentence and "Rome" not in sentence for sentence in found)
    assert found == distractors("Where did Ann live?", ["Rome"], count=4, key="a", lexicon=LEXICON)
    assert found != distractors("Where did Ann live?", ["Rome"], count=4, key="b", lexicon=LEXICON)
    assert distractors("What is it?", ["Rome"], count=4, key="a", lexicon=LEXICON) == []


def test_copies_keep_their_answers_at_their_places_and_their_paragraph() -> None:
    context = "Ann lived in Rome."
    one = AskedQuestion("q1", "Where did Ann live?", context, (GoldAnswer("Rome", 13),))
    two = AskedQuestion("q2", "What is it?", context, (GoldAnswer("Rome", 13),))
    found = with_copies(with_paragraphs([one, two]), "addsent", seed=0, lexicon=LEXICON)
    assert [own.id for own in found] == ["q1", *(f"q1-addsent{n}" for n in range(5)), "q2"]
    assert len(set(found.paragraphs)) == 1
    for copy in list(found)[1:6]:
        assert copy.context.startswith(context) and len(copy.context) > len(context)
        (answer,) = copy.answers
        assert copy.context[answer.start : answer.end] == "Rome"
    assert len(with_copies(with_paragraphs([one]), "addonesent", seed=0, lexicon=LEXICON)) == 2
    with pytest.raises(UserError, match="no question has a word"):
        with_copies(with_paragraphs([two]), "addsent", seed=0, lexicon=LEXICON)
