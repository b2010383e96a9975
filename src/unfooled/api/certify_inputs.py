"""What is certified: the inputs of a task or file, given texts, and the table their words are read by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unfooled.api.certify_work import Item, refusal
from unfooled.api.inputs import load_inputs
from unfooled.certificates.smoothing import Chosen
from unfooled.errors import UsageError
from unfooled.records.certificate import Certificate

if TYPE_CHECKING:
    from unfooled.lexicon.substitution import SubstitutionTable
    from unfooled.predictors import Classifier


def labelled_items(
    classifier: Classifier, run: Path | None, threat: str, limit: int | None, load_: Mapping[str, Any]
) -> tuple[list[Item], list[Certificate], str]:
    inputs = load_inputs(classifier, run, limit=limit, lenient=True, **load_)
    pairs: Sequence[str | None] = inputs.pairs or [None] * len(inputs.texts)
    items = [
        Item(row, (text,) if pair is None else (text, pair), classifier.labels[label])
        for row, text, pair, label in zip(inputs.rows, inputs.texts, pairs, inputs.labels, strict=True)
    ]
    refused = [refusal(Item(one.row, one.texts), threat, one.reason) for one in inputs.refused]
    return items, refused, inputs.source


def given_items(
    classifier: Classifier,
    texts: Sequence[str],
    pairs: Sequence[str] | None,
    labels: Sequence[str] | None,
) -> list[Item]:
    first, second = classifier.checked(texts, pairs)
    if not first:
        raise UsageError("There is no text to certify.")
    if labels is not None and len(labels) != len(first):
        raise UsageError(f"{len(first)} texts but {len(labels)} labels: give one a text.")
    for label in labels or ():
        if label not in classifier.labels:
            raise UsageError(f"There is no label {label!r}. Labels: {', '.join(classifier.labels)}.")
    return [
        Item(
            number,
            (text,) if second is None else (text, second[number]),
            None if labels is None else labels[number],
        )
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
