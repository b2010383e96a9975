"""Records of a source to questions: what is wrong with one is told with its id, or it is left out.

A record has ``id``, ``question``, ``context`` and ``answers``: a list of ``{"text", "answer_start"}`` as in
SQuAD's JSON, or lists ``{"text": […], "answer_start": […]}`` as Hugging Face has them. ``is_impossible``
(SQuAD 2.0) says that no answer is right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unfooled.data.qa.adversarial_copies import original_id
from unfooled.data.qa.question_rows import AskedQuestion, GoldAnswer, QuestionRows, even
from unfooled.errors import DataError
from unfooled.parsing import quoted


@dataclass(frozen=True)
class ReadQuestions:
    """The questions of a source, and how many records were left out, by reason."""

    rows: QuestionRows
    dropped: Mapping[str, int]


@dataclass(frozen=True)
class RawQuestion:
    """A record as it was read, and where it stands."""

    where: str
    cells: Mapping[str, Any]
    row: int


class _Bad(Exception):
    """What is wrong with a record: in general, which is counted, and in particular."""

    def __init__(self, general: str, particular: str) -> None:
        super().__init__(particular)
        self.general = general


def checked_questions(records: Iterable[RawQuestion], source: str, *, lenient: bool = False) -> ReadQuestions:
    """The questions of these records.

    The first bad one is an error that names its id; with ``lenient`` it is left out and counted.
    """
    questions: list[AskedQuestion] = []
    seen: dict[str, str] = {}
    dropped: Counter[str] = Counter()
    for record in records:
        try:
            own = _question(record)
            if own.id in seen:
                raise _Bad("ids that occur twice", f"the id occurs twice (first: {seen[own.id]})")
        except _Bad as bad:
            if not lenient:
                raise _told(record, bad) from None
            dropped[f"bad records: {bad.general}"] += 1
        else:
            seen[own.id] = record.where
            questions.append(own)
    if not questions:
        left = f" ({sum(dropped.values()):,} bad records were left out)" if dropped else ""
        raise DataError(
            f"{source}: there is no question that can be used{left}. Check that the file was written "
            "completely."
        )
    return ReadQuestions(with_paragraphs(questions), dropped)


def with_paragraphs(questions: Iterable[AskedQuestion]) -> QuestionRows:
    """The questions with their paragraphs; adversarial copies are about the paragraph of the original."""
    own = tuple(questions)
    originals = originals_of(own)
    contexts = {question.id: even(question.context) for question in own}
    return QuestionRows(own, tuple(contexts.get(originals[q.id], contexts[q.id]) for q in own))


def originals_of(questions: Sequence[AskedQuestion], others: Sequence[AskedQuestion] = ()) -> dict[str, str]:
    """By id, the id of the original of each question: among these or ``others``, where both ask the same."""
    texts = {question.id: even(question.text) for question in (*others, *questions)}
    found = {}
    for question in questions:
        original = original_id(question.id, texts)
        same = texts.get(original, texts[question.id]) == texts[question.id]
        found[question.id] = original if same else question.id
    return found


def _told(record: RawQuestion, bad: _Bad) -> DataError:
    own = record.cells.get("id")
    named = f", id {quoted(own)}" if isinstance(own, str | int) else ""
    return DataError(
        f"{record.where}{named}: {bad}. Correct the record, or leave out bad records with --lenient."
    )


def _question(record: RawQuestion) -> AskedQuestion:
    cells = record.cells
    own = cells.get("id")
    if isinstance(own, int) and not isinstance(own, bool):
        own = str(own)
    if not isinstance(own, str) or not own.strip():
        raise _Bad("no id", "there is no id")
    text, context = (_text(cells, name) for name in ("question", "context"))
    answers = tuple(dict.fromkeys(_answers(cells, context)))
    impossible = cells.get("is_impossible")
    if impossible is not None and not isinstance(impossible, bool):
        raise _Bad("is_impossible is not true or false", f"is_impossible is {quoted(impossible)}, not a bool")
    if impossible and answers:
        raise _Bad(
            "unanswerable questions with answers",
            f"is_impossible is true, but there is the answer {quoted(answers[0].text)}",
        )
    if not impossible and not answers and impossible is not None:
        raise _Bad("answerable questions without answers", "is_impossible is false, but there is no answer")
    return AskedQuestion(own, text, context, answers, record.row)


def _text(cells: Mapping[str, Any], name: str) -> str:
    value = cells.get(name)
    if value is None:
        raise _Bad(f"no {name}", f"there is no {name}")
    if not isinstance(value, str):
        raise _Bad(f"a {name} that is no text", f"the {name} is {type(value).__name__}, not text")
    if not value.strip():
        raise _Bad(f"an empty {name}", f"the {name} is empty")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise _Bad(f"a damaged {name}", f"the {name} holds half a character (a lone surrogate)") from None
    return value


def _answers(cells: Mapping[str, Any], context: str) -> list[GoldAnswer]:
    given = cells.get("answers")
    if given is None:
        raise _Bad("no answers", "there are no answers; a question without an answer has answers: []")
    if isinstance(given, Mapping):
        texts, starts = given.get("text"), given.get("answer_start")
        if not isinstance(texts, list) or not isinstance(starts, list) or len(texts) != len(starts):
            raise _Bad(
                "malformed answers", "answers must have as many text as answer_start, each of them a list"
            )
        given = [{"text": text, "answer_start": start} for text, start in zip(texts, starts, strict=True)]
    if not isinstance(given, list):
        raise _Bad("malformed answers", f"answers is {type(given).__name__}, not a list")
    return [_answer(one, context) for one in given]


def _answer(one: Any, context: str) -> GoldAnswer:
    text, start = (one.get("text"), one.get("answer_start")) if isinstance(one, Mapping) else (None, None)
    if not isinstance(text, str) or not isinstance(start, int) or isinstance(start, bool):
        raise _Bad("malformed answers", f"an answer needs text and answer_start, found {quoted(one)}")
    if not text.strip():
        raise _Bad("empty answers", "an answer is empty")
    there = context[start : start + len(text)] if start >= 0 else ""
    if there != text:
        raise _Bad(
            "answers that are not at their offset",
            f"the answer {quoted(text)} is not at offset {start} of the context, where {quoted(there)} "
            f"stands{_elsewhere(text, context)}",
        )
    return GoldAnswer(text, start)


def _elsewhere(text: str, context: str) -> str:
    at = context.find(text)
    return f" (it occurs at {at})" if at >= 0 else ""
