"""Answers of the base classifier: to token ids, each asked once, and to noisy embeddings.

A base classifier whose logits are not finite has no answer, and votes of such a one would certify nothing:
that is an error, with the number of the class scores that broke.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unfooled.errors import UsageError, UserError
from unfooled.hub.batches import map_by_length
from unfooled.models import Encoded, EncodedInput, Model
from unfooled.predictors.smoothing.model_check import ModelCheck
from unfooled.predictors.smoothing.streams import DrawPiece


def labels_of(logits: Tensor) -> NDArray[np.int64]:
    """The leading class of each row of ``(rows, classes)``; logits that are not finite are refused."""
    if logits.dim() != 2 or logits.shape[1] < 2:
        raise UsageError(
            f"The model gave scores of the shape {tuple(logits.shape)}: a vote needs one row per input and "
            "two classes or more, (rows, classes)."
        )
    refuse_infinite(logits)
    found: NDArray[np.int64] = logits.argmax(dim=-1).cpu().numpy()
    return found


def refuse_infinite(logits: Tensor) -> None:
    """Scores that are no finite numbers decide nothing."""
    if not bool(torch.isfinite(logits).all()):
        raise UserError(
            "The model gave a score that is not a finite number. Its weights may be damaged, or its "
            "precision too low: load it again, or use float32."
        )


def answers(
    model: Model, encoded: Sequence[EncodedInput], check: ModelCheck | None = None
) -> NDArray[np.int64]:
    """The plain answer to each input; equal ones (tokens, places) are asked once: it must answer alike."""
    distinct: dict[Hashable, int] = {}
    which = [distinct.setdefault(_asked(item), len(distinct)) for item in encoded]
    first: list[EncodedInput | None] = [None] * len(distinct)
    for item, number in zip(encoded, which, strict=True):
        first[number] = first[number] or item
    asked = [item for item in first if item is not None]

    def of_chunk(chunk: list[int]) -> list[int]:
        def ask(rows: Sequence[int]) -> Tensor:
            return model.forward(model.batch([asked[chunk[row]] for row in rows])).logits

        with torch.inference_mode():
            logits = ask(range(len(chunk)))
            found: list[int] = labels_of(logits).tolist()
            if check is not None:
                check(logits, ask)
        return found

    device = model.device
    labels = map_by_length(
        of_chunk, [len(item) for item in asked], model.batch_size, device, parallel=model.parallel
    )
    return np.array(labels, dtype=np.int64)[which] if which else np.empty(0, dtype=np.int64)


def _asked(item: EncodedInput) -> Hashable:
    """All that the model sees of an input."""
    if isinstance(item, Encoded):
        return item.ids, item.type_ids, item.positions
    return item.key()


Draw = tuple[int, bytes]
"""(number of the input, which of its words are shown): equal draws of an input are equal texts."""


class RememberedAnswers:
    """Answers to the draws of some inputs. A draw that came before is neither put together nor asked again.

    Only the inputs of the latest call are remembered, so memory does not grow with the number of inputs.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self._of: dict[int, dict[bytes, int]] = {}

    def labels(
        self, draws: Sequence[Draw], make: Callable[[int], EncodedInput], check: ModelCheck | None
    ) -> NDArray[np.int64]:
        """The answer to each draw; ``make`` puts the draw of a number together, for those that are new."""
        of = self._of = {owner: self._of.get(owner, {}) for owner, _ in draws}
        new: dict[Draw, int] = {}
        for number, (owner, shown) in enumerate(draws):
            if shown not in of[owner]:
                new.setdefault((owner, shown), number)
        found = answers(self.model, [make(number) for number in new.values()], check)
        for (owner, shown), label in zip(new, found.tolist(), strict=True):
            of[owner][shown] = label
        return np.array([of[owner][shown] for owner, shown in draws], dtype=np.int64)


def tally(
    labels: NDArray[np.int64], parts: Sequence[DrawPiece], *, requests: int, classes: int
) -> list[NDArray[np.int64]]:
    """Counts by request, of labels in the order of the pieces."""
    owners = np.repeat([piece.request for piece in parts], [len(piece) for piece in parts])
    counts = np.zeros((requests, classes), dtype=np.int64)
    np.add.at(counts, (owners.astype(np.int64), labels), 1)
    return list(counts)


def equal_length_batches(
    parts: Sequence[DrawPiece], lengths: Sequence[int], most_tokens: int
) -> list[list[int]]:
    """Numbers of pieces of inputs of the same length, so that their noise fills a batch without a gap."""
    by_length: dict[int, list[int]] = {}
    for number, piece in enumerate(parts):
        by_length.setdefault(lengths[piece.owner], []).append(number)
    batches: list[list[int]] = []
    for length, numbers in sorted(by_length.items(), reverse=True):
        rows = 0
        batches.append([])
        for number in numbers:
            if batches[-1] and (rows + len(parts[number])) * length > most_tokens:
                batches.append([])
                rows = 0
            batches[-1].append(number)
            rows += len(parts[number])
    return batches
