"""What is certified: the inputs of a task or file, given texts, and the table their words are read by."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unfooled.api.certify_work import Item, refusal
from unfooled.api.load_inputs import load_inputs
from unfooled.certificates.smoothing import Chosen
from unfooled.data.inputs import Inputs, label_numbers
from unfooled.errors import UsageError
from unfooled.records.certificate import Certificate

if TYPE_CHECKING:
    from unfooled.lexicon.substitution import SubstitutionTable
    from unfooled.predictors import Classifier


def labelled_items(
    classifier: Classifier, run: Path | None, threat: str, limit: int | None, inputs: Inputs
) -> tuple[list[Item], list[Certificate], str]:
    found = load_inputs(classifier, run, inputs, limit=limit, lenient=True)
    pairs: Sequence[str | None] = found.pairs or [None] * len(found.texts)
    items = [
        Item(row, (text,) if pair is None else (text, pair), classifier.labels[label])
        for row, text, pair, label in zip(found.rows, found.texts, pairs, found.labels, strict=True)
    ]
    refused = [refusal(Item(one.row, one.texts), threat, one.reason) for one in found.refused]
    return items, refused, found.source


def given_items(classifier: Classifier, inputs: Inputs) -> list[Item]:
    """The given texts; unlike in attacks, their labels need not be known."""
    first, second = classifier.checked(inputs.texts or (), inputs.pairs)
    if not first:
        raise UsageError("There is no text to certify.")
    labels: list[str | None] = [None] * len(first)
    if inputs.labels is not None:
        numbers = label_numbers(classifier.labels, inputs.labels, texts=len(first))
        labels = [classifier.labels[number] for number in numbers]
    return [
        Item(number, (text,) if second is None else (text, second[number]), labels[number])
        for number, text in enumerate(first)
    ]


def substitutes_of(chosen: Chosen, named: str | None) -> SubstitutionTable | None:
    """The table of the threat, or the one that reads an l2 radius as words."""
    own = chosen.table()
    if named is None or own is not None:
        if named is not None:
            raise UsageError("--substitutes is for l2; the threat synonyms has --predictor-set table=….")
        return own
    if chosen.threat != "l2":
        raise UsageError(f"--substitutes reads an l2 radius as words; --threat {chosen.threat} has none.")
    from unfooled.lexicon.substitution import load_table

    return load_table(named)
