"""Questions for a run: its own test split, or a file without the paragraphs that it was trained on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from unfooled.api.inputs.load_inputs import NEEDS_TEXTS
from unfooled.api.inputs.unseen_rows import unseen_places
from unfooled.data.fingerprints import RowFingerprints
from unfooled.data.inputs import Inputs
from unfooled.data.qa import QuestionRows, original_id, originals_of, read_questions
from unfooled.errors import UsageError, UserError
from unfooled.files import JsonObject, writable
from unfooled.records.row_check import RowCheck
from unfooled.training.data import load_question_task
from unfooled.training.run_rows import CONFIG, TEST, read_fingerprints, run_config


def own_questions(run: Path | None, split: str = "test") -> tuple[QuestionRows, JsonObject]:
    """The test questions of a run, or another split, and what a report says of them."""
    if run is None:
        raise UsageError("This classifier has no questions of its own: name a file with --data.")
    if split == "test" and (run / TEST).is_file():
        rows = read_questions(run / TEST).rows
    elif (run / CONFIG).is_file():
        rows = load_question_task(replace(run_config(run), limit_test=None)).rows[split]
    else:
        raise UsageError(f"{run} does not say what it was trained on. Name a file with --data.")
    return rows, {"source": f"{split} split", "dropped": {}, "rows": None}


def unseen_questions(
    rows: QuestionRows, run: Path | None, known: RowFingerprints | None, source: str, *, include: bool
) -> tuple[QuestionRows, RowCheck | None]:
    """The questions that may be used: not those on paragraphs that the run was trained on."""
    left, check = unseen_places(
        run,
        None if known is None else lambda split: known.which_paragraphs(rows, split),
        rows=len(rows),
        include=include,
        source=source,
        all_of_them="the paragraphs of all {:,} questions",
    )
    return rows if left is None else rows.take(left), check


def first_questions(rows: QuestionRows, limit: int | None) -> QuestionRows:
    """The first so many original questions, with all their copies."""
    if limit is None:
        return rows
    known = originals_of(rows.questions)
    originals = [known[question.id] for question in rows]
    kept = set(list(dict.fromkeys(originals))[:limit])
    return rows.take([place for place, original in enumerate(originals) if original in kept])


def original_questions(rows: QuestionRows) -> QuestionRows:
    """The questions that are no copies."""
    return rows.take([place for place, own in enumerate(rows) if original_id(own.id) == own.id])


@dataclass(frozen=True)
class FoundQuestions:
    """Questions to attack, where they are from, and how many the run was trained on."""

    rows: QuestionRows
    source: str
    check: RowCheck | None


def questions_to_attack(run: Path | None, inputs: Inputs, *, limit: int | None) -> FoundQuestions:
    """The first ``limit`` original questions that ``inputs`` names; copies are results of other attacks."""
    if inputs.texts is not None or inputs.tensors is not None:
        raise UsageError("This run answers questions: name a file of them, Inputs(data=…) or --data FILE.")
    if inputs.task is not None or any(inputs.columns.values()):
        raise UsageError("This run answers questions: name a file of them with --data, no task, no columns.")
    if inputs.data is not None and not inputs.is_file:
        raise UsageError(f"--data {inputs.data}: save the dataset as a file of questions and name that.")
    include = inputs.allow_training_rows
    if inputs.data is None:
        rows, about = own_questions(run, inputs.split)
        source, check = str(about["source"]), None
        if inputs.split == "train" and not include:
            raise UsageError("The run was trained on these questions: --allow-training-rows includes them.")
    else:
        known, source = None if run is None else read_fingerprints(run), writable(inputs.data)
        read = read_questions(inputs.data, encoding=inputs.encoding)
        rows, check = unseen_questions(read.rows, run, known, source, include=include)
    rows = first_questions(original_questions(rows), limit)
    if not len(rows):
        raise UserError(f"{source} holds adversarial copies only. Name the file of the originals.")
    return FoundQuestions(rows, source, check)


def training_contexts(run: Path | None, inputs: Inputs) -> list[str]:
    """The contexts that a masked language model is fitted to: of the training questions, else of the file."""
    if run is not None and (run / CONFIG).is_file():
        try:
            rows = load_question_task(run_config(run)).rows["train"]
        except UserError as error:
            raise UserError(f"{error} {NEEDS_TEXTS}") from error
    else:
        rows = questions_to_attack(run, inputs, limit=None).rows
    return list(dict.fromkeys(question.context for question in rows))
