"""What is certified: the inputs of a task or file, or given texts or tensors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unfooled.api.inputs.load_inputs import load_inputs
from unfooled.api.inputs.question_inputs import first_questions, own_questions, unseen_questions
from unfooled.api.jobs.certify_job import Item, refused_row
from unfooled.data.inputs import Inputs, label_numbers
from unfooled.data.qa import read_questions
from unfooled.errors import UsageError
from unfooled.files import writable
from unfooled.records.certificate import Certificate
from unfooled.records.row_check import RowCheck
from unfooled.training.run_rows import read_fingerprints

if TYPE_CHECKING:
    from unfooled.predictors import Classifier


def labelled_items(
    classifier: Classifier, run: Path | None, threat: str, limit: int | None, inputs: Inputs
) -> tuple[list[Item], list[Certificate], str, RowCheck | None]:
    found = load_inputs(classifier, run, inputs, limit=limit, lenient=True)
    pairs: Sequence[str | None] = found.pairs or [None] * len(found.texts)
    items = [
        Item(row, (text,) if pair is None else (text, pair), classifier.labels[label])
        for row, text, pair, label in zip(found.rows, found.texts, pairs, found.labels, strict=True)
    ]
    refused = [refused_row(one.row, one.texts, threat, one.reason) for one in found.refused]
    return items, refused, found.source, found.check


def question_items(
    run: Path | None, limit: int | None, inputs: Inputs
) -> tuple[list[Item], list[Certificate], str, RowCheck | None]:
    """The test questions of the run, or those of a file, with their right answers."""
    if inputs.task or inputs.split != "test" or any(inputs.columns.values()):
        raise UsageError(
            "This run answers questions: it is certified on its test questions, or on --data FILE with "
            "questions. Leave out --task, --split and columns."
        )
    if inputs.data is None:
        (rows, about), check = own_questions(run), None
        source = str(about["source"])
    elif inputs.is_file:
        known = None if run is None else read_fingerprints(run)
        source = writable(inputs.data)
        rows, check = unseen_questions(
            read_questions(inputs.data, encoding=inputs.encoding).rows,
            run,
            known,
            source,
            include=inputs.allow_training_rows,
        )
    else:
        raise UsageError(f"{inputs.data}: questions are certified from a file. Save the dataset as one.")
    items = [Item(one.row, (one.text, one.context), one.truth) for one in first_questions(rows, limit)]
    return items, [], source, check


def given_items(classifier: Classifier, inputs: Inputs) -> list[Item]:
    """The given texts, tensors or images; unlike in attacks, their labels need not be known."""
    thing = "text" if inputs.tensors is None else "tensor"
    if classifier.model.kind == "image":  # texts are the names of files
        thing = "image"
    elif classifier.model.kind == "question" and thing == "text":
        thing = "question"
        if inputs.labels is not None:
            raise UsageError("The right answers of questions are read from a file: --data FILE.")
    elif classifier.model.kind != thing:
        raise UsageError(f"This classifier reads {classifier.model.kind}s, and was given {thing}s.")
    first = classifier.checked(inputs.texts or () if inputs.tensors is None else inputs.tensors, inputs.pairs)
    if not len(first):
        raise UsageError(f"There is no {thing} to certify.")
    labels: list[str | None] = [None] * len(first)
    if inputs.labels is not None:
        numbers = label_numbers(classifier.labels, inputs.labels, texts=len(first), thing=thing)
        labels = [classifier.labels[number] for number in numbers]
    return [Item(number, own, labels[number]) for number, own in enumerate(first)]
