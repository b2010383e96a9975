"""The Universal Sentence Encoder (multilingual v3, 6-bit weights) in NumPy.

The encoder TextFooler measures with (Cer et al. 2018; Yang et al. 2020): SentencePiece embeddings, three
convolution branches over 2, 3 and 5 tokens, a sum over √length, and a deep averaging network. The asset
holds the weights with the embeddings quantised in 17 interleaved blocks; TextFooler itself used the
larger English model, so its thresholds carry over only roughly (docs/lexicon.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unfooled.errors import UserError
from unfooled.hub.batches import length_sorted_chunks

_BLOCKS = 17
_BRANCHES = ((2, 0), (3, 1), (5, 2))  # tokens in the window, of which to the left
_BATCH_TOKENS = 512
_MAX_TOKENS = 512
_FIRST, _LAST = 1, 2  # ids of <s> and </s>

Floats32 = NDArray[np.float32]


class UseEncoder:
    """Sentence embeddings ``(texts, 512)`` of length one."""

    def __init__(self, folder: Path) -> None:
        try:
            from sentencepiece import SentencePieceProcessor
        except ImportError as error:
            raise UserError(
                "The Universal Sentence Encoder needs sentencepiece: `pip install sentencepiece`, or use "
                "the default encoder, minilm."
            ) from error
        self._tokenizer = SentencePieceProcessor(model_file=str(folder / "sp.model"))
        with np.load(folder / "weights.npz", allow_pickle=False) as archive:
            blocks = [archive[f"q{number + 1}"] for number in range(_BLOCKS)]
            self._weights = {name: archive[name] for name in archive.files if not name.startswith("q")}
        # The row of piece p is row p // 17 of block p % 17.
        self._table = np.stack(blocks, axis=1).reshape(-1, blocks[0].shape[1])
        self._eps = float(self._weights["eps"])

    def embed(self, texts: Sequence[str]) -> Floats32:
        rows = [[_FIRST, *ids[: _MAX_TOKENS - 2], _LAST] for ids in self._tokenizer.encode(list(texts))]
        vectors = np.empty((len(rows), self._weights["d3"].shape[1]), np.float32)
        for batch in length_sorted_chunks([len(row) for row in rows], _BATCH_TOKENS):
            vectors[batch] = self._forward([rows[index] for index in batch])
        return vectors

    def _forward(self, rows: Sequence[Sequence[int]]) -> Floats32:
        lengths = np.array([len(row) for row in rows])
        ids = np.zeros((len(rows), lengths.max()), np.int64)
        for row, line in zip(ids, rows, strict=True):
            row[: len(line)] = line
        inside = (np.arange(ids.shape[1]) < lengths[:, None])[..., None]
        weights = self._weights
        block = ids % _BLOCKS
        words = self._table[ids] * weights["scale"][block][..., None] + weights["lo"][block][..., None]
        features = [words]
        projected = [words @ weights[f"proj{size}"] + weights[f"proj_b{size}"] for size, _ in _BRANCHES]
        gain, shift = (
            np.concatenate([weights[f"{kind}{size}"] for size, _ in _BRANCHES]) for kind in ("ln_g", "ln_b")
        )
        normed = self._normalised(np.concatenate(projected, axis=-1), gain, shift)
        for (size, left), branch in zip(_BRANCHES, np.split(normed, len(_BRANCHES), axis=-1), strict=True):
            hidden = branch * inside
            for layer in "12":
                seen = (
                    _windows(hidden, size, left) @ weights[f"w{layer}_{size}"] + weights[f"b{layer}_{size}"]
                )
                hidden = (np.maximum(seen, 0) + hidden) * inside
            features.append(hidden)
        joined = self._normalised(np.concatenate(features, axis=-1), weights["ln_g"], weights["ln_b"])
        summed = (joined * inside).sum(axis=1) @ weights["cnn_W"] + lengths[:, None] * weights["cnn_b"]
        return self._averaged(np.asarray(summed / np.sqrt(lengths)[:, None], np.float32))

    def _averaged(self, mean: Floats32) -> Floats32:
        """The deep averaging network and the length-one output."""
        weights = self._weights
        first = np.maximum(mean @ weights["d0"], 0)
        second = np.maximum(mean @ weights["p1"] + first @ weights["d1"], 0)
        third = np.maximum(second @ weights["d2"], 0)
        result = np.tanh(second @ weights["p3"] + third @ weights["d3"])
        return result / np.linalg.norm(result, axis=1, keepdims=True)

    def _normalised(self, values: Floats32, gain: Floats32, shift: Floats32) -> Floats32:
        centred = values - values.mean(axis=-1, keepdims=True)
        variance = np.square(centred).mean(axis=-1, keepdims=True)
        return centred / np.sqrt(variance + self._eps) * gain + shift


def _windows(values: Floats32, size: int, left: int) -> Floats32:
    """Each token beside its neighbours: ``(rows, tokens, size * width)``, zeros past the ends."""
    padded = np.pad(values, ((0, 0), (left, size - 1 - left), (0, 0)))
    tokens = values.shape[1]
    return np.concatenate([padded[:, shift : shift + tokens] for shift in range(size)], axis=-1)
