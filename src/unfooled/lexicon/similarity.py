"""How much of its meaning a changed sentence keeps: the angle between two sentence embeddings.

Similarity is 1 − angle/π, as TextFooler (§3.1) and the Universal Sentence Encoder define it. TextFooler's
released code forgets the π; its threshold 0.5 is 0.84 here, BAE's 0.8 is 0.936. The default encoder is
minilm with mean pooling; ``use`` is the Universal Sentence Encoder. Thresholds differ between the two:
``THRESHOLDS`` has the matching ones (docs/lexicon.md says how they were found).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from unfooled import assets
from unfooled.errors import UsageError
from unfooled.hub.batches import length_sorted_chunks, padded_inputs
from unfooled.hub.devices import device_named
from unfooled.hub.pretrained import longest_input, open_pair
from unfooled.lexicon.recent import Recent

SentenceVectors = NDArray[np.float32]
EncoderName = Literal["minilm", "use"]

THRESHOLDS: dict[str, dict[str, float]] = {
    "use": {"textfooler": 0.84, "bae": 0.936},
    "minilm": {"textfooler": 0.80, "bae": 0.93},
}
"""The least similarity each recipe allows, by encoder; minilm's pass the same share of substitutions."""

_CACHED_TEXTS = 20_000
_BATCH_TOKENS = 4096
_MAX_TOKENS = 256  # what minilm was trained with


class SentenceEncoder(Protocol):
    """Anything that turns texts into rows of length one."""

    def embed(self, texts: Sequence[str]) -> SentenceVectors: ...


class MeanPooled:
    """A transformer's token states averaged over the text, at length one: ``(texts, width)``.

    A text with more tokens than the model reads is read in pieces, and the mean is over all of them.
    """

    def __init__(self, folder: str | Path, *, device: str = "auto") -> None:
        self._device = device_named(device)
        model, self._tokenizer = open_pair("AutoModel", folder)
        self._model: Any = model.to(self._device).eval()
        self._max_tokens = min(_MAX_TOKENS, longest_input(self._model, self._tokenizer))

    def embed(self, texts: Sequence[str]) -> SentenceVectors:
        import torch

        found = self._tokenizer(
            list(texts),
            truncation=True,
            max_length=self._max_tokens,
            return_overflowing_tokens=True,
            split_special_tokens=True,
        )
        rows, owners = found["input_ids"], torch.tensor(found["overflow_to_sample_mapping"])
        sums = torch.zeros(len(texts), self._model.config.hidden_size)
        tokens = torch.zeros(len(texts), 1)
        with torch.inference_mode():
            for batch in length_sorted_chunks([len(row) for row in rows], _BATCH_TOKENS):
                inputs = padded_inputs([rows[i] for i in batch], self._tokenizer.pad_token_id, self._device)
                states = self._model(**inputs).last_hidden_state
                weights = inputs["attention_mask"].unsqueeze(-1).to(states.dtype)
                sums.index_add_(0, owners[batch], (states * weights).sum(1).cpu())
                tokens.index_add_(0, owners[batch], weights.sum(1).cpu())
        vectors: SentenceVectors = torch.nn.functional.normalize(sums / tokens, dim=-1).numpy()
        return vectors


class SentenceSimilarity:
    """Similarity of pairs of texts; every distinct text is embedded once while it stays in the cache.

    >>> load_similarity().scores([("a witty film", "a funny film"), ("a witty film", "a dull film")])
    [0.84…, 0.71…]
    """

    def __init__(
        self, encoder: SentenceEncoder, *, name: str = "", cached_texts: int = _CACHED_TEXTS
    ) -> None:
        self.name = name
        self._encoder = encoder
        self._recent: Recent[SentenceVectors] = Recent(cached_texts)

    def scores(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """1 − angle/π for each pair: 1 for equal texts, ½ for unrelated ones, 0 for opposite vectors."""
        vectors = self._vectors([text for pair in pairs for text in pair])
        return [_angular(vectors[first], vectors[second]) for first, second in pairs]

    def _vectors(self, texts: Sequence[str]) -> dict[str, SentenceVectors]:
        found = {text: self._recent.get(text) for text in dict.fromkeys(texts)}
        missing = [text for text, vector in found.items() if vector is None]
        vectors = {text: vector for text, vector in found.items() if vector is not None}
        if missing:
            for text, vector in zip(missing, self._encoder.embed(missing), strict=True):
                vectors[text] = vector
                self._recent.put(text, vector)
        return vectors


def load_similarity(name: EncoderName = "minilm", *, device: str = "auto") -> SentenceSimilarity:
    """The similarity by the named encoder, loaded once per device and shared. ``use`` runs on the CPU."""
    if name not in get_args(EncoderName):
        known = ", ".join(get_args(EncoderName))
        raise UsageError(f"There is no sentence encoder '{name}'. Sentence encoders: {known}.")
    return _loaded(name, "cpu" if name == "use" else str(device_named(device)))


@lru_cache(maxsize=4)
def _loaded(name: EncoderName, device: str) -> SentenceSimilarity:
    if name == "use":
        from unfooled.lexicon.use_encoder import UseEncoder

        return SentenceSimilarity(UseEncoder(assets.path("use")), name=name)
    return SentenceSimilarity(MeanPooled(assets.path("minilm"), device=device), name=name)


def windows(
    original: str, changed: str, start: int, end_original: int, end_changed: int, size: int = 15
) -> tuple[str, str]:
    """The ``size`` words around a change, cut from both texts: the same neighbours on both sides.

    ``original[start:end_original]`` became ``changed[start:end_changed]``; the rest is equal. Words are what
    spaces separate. Half of the window lies to each side; near an end it moves inwards, and a text
    of fewer words is taken whole (TextFooler, as released).
    """
    if not 0 <= start <= end_original <= len(original) or not start <= end_changed <= len(changed):
        raise UsageError(f"The span {start}:{end_original} or {start}:{end_changed} is not within its text.")
    if original[:start] != changed[:start] or original[end_original:] != changed[end_changed:]:
        raise UsageError("The texts differ outside the span that was changed.")
    words = [match.span() for match in re.finditer(r"\S+", original)]
    before = sum(last <= start for _, last in words)
    after = sum(first >= end_original for first, _ in words)
    room = max(0, size - (len(words) - before - after))
    left = min(before, max(room // 2, room - after))
    right = min(after, room - left)
    if left == before and right == after:
        return original, changed
    seen = words[before - left : len(words) - after + right]
    first = min([start, *(word[0] for word in seen[:1])])
    last = max([end_original, *(word[1] for word in seen[-1:])])
    return original[first:last], changed[first : last + end_changed - end_original]


def _angular(first: SentenceVectors, second: SentenceVectors) -> float:
    # Kahan's form of the angle: exact for equal vectors, where arccos(cos) loses half its digits.
    apart, together = np.linalg.norm(first - second), np.linalg.norm(first + second)
    return 1.0 - 2.0 * math.atan2(float(apart), float(together)) / math.pi
