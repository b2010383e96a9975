"""Questions with contexts and answers: SQuAD files, tables and Hugging Face datasets.

>>> from unfooled.data.qa import load_questions
>>> squad = load_questions("train-v1.1.json")
>>> squad.train[0].text, squad.train[0].truth
"""

from __future__ import annotations

from unfooled.data.qa.adversarial_copies import original_id
from unfooled.data.qa.question_checks import originals_of
from unfooled.data.qa.question_rows import AskedQuestion, GoldAnswer, QuestionRows
from unfooled.data.qa.question_sources import asked_rows, has_questions, load_questions, read_questions
from unfooled.data.qa.question_split import QuestionData

__all__ = [
    "AskedQuestion",
    "GoldAnswer",
    "QuestionData",
    "QuestionRows",
    "asked_rows",
    "has_questions",
    "load_questions",
    "original_id",
    "originals_of",
    "read_questions",
]
