"""Questions for a run: its own test split, or a file without the paragraphs that it was trained on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from unfooled.data.fingerprints import RowFingerprints
from unfooled.data.qa import QuestionRows, originals_of, read_questions
from unfooled.errors import UsageError, UserError
from unfooled.files import JsonObject, writable
from unfooled.records.row_check import RowCheck
from unfooled.training.data import load_question_task
from unfooled.training.run_rows import CONFIG, TEST, run_config


def own_questions(run: Path | None) -> tuple[QuestionRows, JsonObject]:
    """The test questions of a run, and what a report says of them."""
    if run is None:
        raise UsageError("This classifier has no test questions of its own: name a file with --data.")
    if (run / TEST).is_file():
        rows = read_questions(run / TEST).rows
    elif (run / CONFIG).is_file():
        rows = load_question_task(replace(run_config(run), limit_test=None)).rows["test"]
    else:
        raise UsageError(f"{run} does not say what it was trained on. Name a file with --data.")
    return rows, {"source": "test split", "dropped": {}, "rows": None}


def unseen_questions(
    rows: QuestionRows, run: Path | None, known: RowFingerprints | None, source: str, *, include: bool
) -> tuple[QuestionRows, RowCheck | None]:
    """The questions that may be used: not those on paragraphs that the run was trained on."""
    if run is None:
        return rows, None
    if known is None:
        return rows, RowCheck(len(rows), checked=False)
    trained, dev = known.which_paragraphs(rows, "train"), known.which_paragraphs(rows, "dev")
    check = RowCheck(len(rows), sum(trained), included=include, dev=sum(dev))
    if include or not any(trained):
        return rows, check
    if all(trained):
        raise UserError(
            f"{source}: {writable(run)} was trained on the paragraphs of all {len(rows):,} questions. Name "
            "another file, or include them with --allow-training-rows."
        )
    return rows.take([place for place, own in enumerate(trained) if not own]), check


def first_questions(rows: QuestionRows, limit: int | None) -> QuestionRows:
    """The first so many original questions, with all their copies."""
    if limit is None:
        return rows
    known = originals_of(rows.questions)
    originals = [known[question.id] for question in rows]
    kept = set(list(dict.fromkeys(originals))[:limit])
    return rows.take([place for place, original in enumerate(originals) if original in kept])
