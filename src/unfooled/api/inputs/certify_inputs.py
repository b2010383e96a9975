"""What is certified: the inputs of a task or file, or given texts or tensors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unfooled.api.inputs.load_inputs import load_inputs
from unfooled.api.jobs.certify_job import Item, refused_row
from unfooled.data.inputs import Inputs, label_numbers
from unfooled.errors import UsageError
from unfooled.records.certificate import Certificate
from unfooled.records.row_check import RowCheck

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


def given_items(classifier: Classifier, inputs: Inputs) -> list[Item]:
    """The given texts, tensors or images; unlike in attacks, their labels need not be known."""
    thing = "text" if inputs.tensors is None else "tensor"
    if classifier.model.kind == "image":  # texts are the names of files
        thing = "image"
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
