"""The anchored words of an input: those whose gradient is neither the smallest nor the largest (InfoBERT).

InfoBERT trains with them (``unfooled.defences.infobert``). Here they are shown, as in Table 7 of the paper,
for any text classifier: by the gradient of the loss of the model's own prediction, without noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from unfooled.errors import UsageError
from unfooled.hub.batches import map_by_length
from unfooled.models import OF_TEXTS, Encoded, EncodedInput, TextModel, Unreadable, as_text, as_texts
from unfooled.predictors.classifier import Classifier
from unfooled.predictors.input_parts import parts_of
from unfooled.predictors.saliency import between_ranks
from unfooled.records.results.predictions import Predictions
from unfooled.words.document import Document, Span

FROM, TO = 0.5, 0.9
"""Shares of the words between whose ranks a word is anchored (c_l, c_h), as in the paper."""


def with_anchored_words(classifier: Classifier, predictions: Predictions) -> Predictions:
    """The predictions, each with the anchored words of its text, by the ranks that the run was trained on."""
    if classifier.model.kind not in OF_TEXTS:
        raise UsageError(
            f"Anchored words are words of texts, and this classifier reads {classifier.model.kind}s: leave "
            "out show=anchored (--show anchored)."
        )
    model = as_text(classifier.model)
    low, high = (
        _setting(classifier, name, own) for name, own in (("anchored_from", FROM), ("anchored_to", TO))
    )
    read = model.read(classifier.checked(predictions.texts, predictions.pairs))
    kept = [number for number, item in enumerate(read) if not isinstance(item, Unreadable)]
    encoded = [item for item in read if not isinstance(item, Unreadable)]
    answers = list(predictions.answers)
    for number, spans in zip(kept, anchored_words(model, encoded, low, high), strict=True):
        texts = predictions.texts[number], predictions.pairs[number] if predictions.pairs else ""
        words = tuple(texts[which][start:end] for which, start, end in spans)
        answers[number] = replace(answers[number], anchored_words=words, anchored_spans=tuple(spans))
    return replace(predictions, answers=tuple(answers))


def anchored_words(
    model: TextModel, encoded: Sequence[EncodedInput], low: float = FROM, high: float = TO
) -> list[list[Span]]:
    """The words of each input that have an anchored token, in the order of the text."""

    parts = parts_of(model, encoded)
    rows = as_texts(parts.rows)

    def positions_of(chunk: list[int]) -> list[list[int]]:
        batch = model.batch([rows[index] for index in chunk])
        gradient, _ = model.gradient(batch)
        anchored = between_ranks(gradient, batch.words, low, high)
        return [row.nonzero().squeeze(1).tolist() for row in anchored]

    lengths = [len(item) for item in rows]
    model.evaluating()
    found = map_by_length(positions_of, lengths, model.batch_size, model.device, parallel=model.parallel)
    return [sorted({word for place in own for word in _words(rows[place], found[place])}) for own in parts.of]


def _words(item: Encoded, positions: Sequence[int]) -> set[Span]:
    """The words that tokens at these positions belong to; a token that is in no word stands for itself."""
    places = Document.of(*item.texts).places
    found: set[Span] = set()
    for position in positions:
        which, start, end = item.offsets[position]
        around = [one for one in places if one[0] == which and one[1] < end and start < one[2]]
        found.update(around or [(which, start, end)])
    return found


def _setting(classifier: Classifier, name: str, default: float) -> float:
    """A setting of InfoBERT, alone or as a part of the defence, if the run was trained with it."""
    own = name if classifier.defence == "infobert" else f"infobert.{name}"
    value = classifier.settings.get(own, default)
    return float(value) if isinstance(value, int | float) else default
