"""An ONNX sequence classifier as a victim, run with onnxruntime on the CPU.

>>> victim = OnnxVictim.load("exported")

The folder holds ``model.onnx``, ``tokenizer.json`` and ``config.json``, as ``optimum-cli export onnx`` and
other exporters write them. The model's inputs must be among token ids, attention mask and token types, and
one output must hold the logits, one per label of the configuration.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unfooled.assets.digest import of_file
from unfooled.attacks.victim import Answer, Asked, Query
from unfooled.attacks.victims.scores import answers_of, checked_scores
from unfooled.errors import UsageError, UserError, needs_extra
from unfooled.files import read_json
from unfooled.hub.batches import length_sorted_chunks

FILES = ("model.onnx", "tokenizer.json", "config.json")
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
INTEGERS = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
MAX_TOKENS = 4096
"""Padded tokens per call."""
LONGEST = 512
"""Tokens that are read if the configuration names no number of positions."""


class OnnxVictim:
    """A session, its tokenizer and its labels."""

    randomised = False

    def __init__(
        self, folder: Path, session: Any, tokenizer: Any, config: dict[str, Any], max_length: int
    ) -> None:
        self.name = f"onnx:{folder}"
        self.labels = _labels(config, folder)
        self._folder, self._session, self._tokenizer = folder, session, tokenizer
        self._pad = int(config.get("pad_token_id") or 0)
        self._inputs = _inputs(session, folder)
        self._output = _output(session, folder, len(self.labels))
        self.max_length = max_length
        tokenizer.no_padding()
        tokenizer.enable_truncation(max_length)

    @classmethod
    def load(
        cls, location: str, *, labels: Sequence[str] | None = None, max_length: int | None = None
    ) -> OnnxVictim:
        """The model in a folder."""
        folder = Path(location)
        missing = [name for name in FILES if not (folder / name).is_file()]
        if missing:
            raise UserError(
                f"{folder} has no {', '.join(missing)}. An ONNX victim is a folder with {', '.join(FILES)}."
            )
        if max_length is not None and max_length < 3:
            raise UsageError(f"max_length must be at least 3, got {max_length}.")
        runtime = needs_extra("onnxruntime", "onnx", f"runs {folder}")
        from tokenizers import Tokenizer

        config = read_json(folder / "config.json")
        if not isinstance(config, dict):
            raise UserError(
                f"{folder / 'config.json'} is not an object with id2label. Export the model again."
            )
        if labels:
            config["id2label"] = {str(number): name for number, name in enumerate(labels)}
        try:
            tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        except Exception as error:  # tokenizers raises a bare Exception
            raise UserError(
                f"{folder / 'tokenizer.json'} cannot be read: {error}. Export it again."
            ) from error
        try:
            options = runtime.SessionOptions()
            options.log_severity_level = 3
            session = runtime.InferenceSession(
                str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # onnxruntime has one exception per status code
            raise UserError(f"{folder / 'model.onnx'} cannot be opened: {error}. Export it again.") from error
        longest = config.get("max_position_embeddings")
        limit = longest if isinstance(longest, int) and longest > 2 else LONGEST
        return cls(folder, session, tokenizer, config, min(max_length or limit, limit))

    def __repr__(self) -> str:
        return f"OnnxVictim({str(self._folder)!r}, labels={self.labels!r}, max_length={self.max_length})"

    @property
    def mask_token(self) -> str | None:
        """The token that stands for a hidden word, where the tokenizer has a usual one."""
        return next(
            (one for one in ("[MASK]", "<mask>") if self._tokenizer.token_to_id(one) is not None), None
        )

    def answers(self, asked: Sequence[Asked]) -> list[Answer]:
        if not asked:
            return []
        queries = [one.query for one in asked]
        return answers_of(
            checked_scores(
                self._logits(queries), queries, victim=self.name, classes=len(self.labels), logits=True
            )
        )

    def describe(self) -> dict[str, Any]:
        """What it is, for the record of a run: the digests of its files."""
        files = sorted(path for path in self._folder.iterdir() if path.is_file() and ".onnx" in path.name)
        files += [self._folder / name for name in FILES[1:]]
        return {
            "kind": "onnx",
            "spec": self.name,
            "files": {path.name: of_file(path) for path in files},
            "max_length": self.max_length,
        }

    def _logits(self, queries: Sequence[Query]) -> np.ndarray:
        encoded = self._tokenizer.encode_batch(
            [query[0] if len(query) == 1 else query for query in queries], add_special_tokens=True
        )
        # A text without tokens, special ones included, is one padding token: no model takes an empty row.
        ids = [one.ids or [self._pad] for one in encoded]
        types = [one.type_ids or [0] for one in encoded]
        rows: list[Any] = [None] * len(queries)
        for chunk in length_sorted_chunks([len(one) for one in ids], MAX_TOKENS):
            width = len(ids[chunk[0]])
            given = {
                "input_ids": [[*ids[row], *[self._pad] * (width - len(ids[row]))] for row in chunk],
                "attention_mask": [[*[1] * len(ids[row]), *[0] * (width - len(ids[row]))] for row in chunk],
                "token_type_ids": [[*types[row], *[0] * (width - len(types[row]))] for row in chunk],
            }
            feed = {name: np.array(given[name], dtype=kind) for name, kind in self._inputs.items()}
            (found,) = self._session.run([self._output], feed)
            for row, scores in zip(chunk, found, strict=True):
                rows[row] = scores
        return np.array(rows, dtype=np.float64)


def _labels(config: dict[str, Any], folder: Path) -> tuple[str, ...]:
    named = config.get("id2label")
    if not isinstance(named, dict) or sorted(named) != sorted(str(number) for number in range(len(named))):
        shown = json.dumps(named)[:80]
        raise UserError(
            f"{folder / 'config.json'} does not name the labels 0, 1, … in id2label (it has {shown}). Give "
            "them with labels=[…] (--labels)."
        )
    if len(named) < 2:
        raise UserError(f"{folder / 'config.json'} names {len(named)} label: a classifier has two or more.")
    return tuple(str(named[str(number)]) for number in range(len(named)))


def _inputs(session: Any, folder: Path) -> dict[str, Any]:
    """The model's inputs and their integer types."""
    found = {one.name: one.type for one in session.get_inputs()}
    unknown = [name for name in found if name not in INPUTS]
    if unknown or "input_ids" not in found:
        raise UserError(
            f"{folder / 'model.onnx'} takes {', '.join(found)}; a text classifier takes input_ids and "
            f"perhaps {INPUTS[1]}, {INPUTS[2]}. Export it for text classification."
        )
    wrong = [f"{name}: {kind}" for name, kind in found.items() if kind not in INTEGERS]
    if wrong:
        raise UserError(f"{folder / 'model.onnx'} takes {', '.join(wrong)}; its inputs must be integers.")
    return {name: INTEGERS[kind] for name, kind in found.items()}


def _output(session: Any, folder: Path, classes: int) -> str:
    """The output with the logits: the one called so, or the only one."""
    found = {one.name: one.shape for one in session.get_outputs()}
    name = "logits" if "logits" in found else next(iter(found))
    if "logits" not in found and len(found) > 1:
        raise UserError(
            f"{folder / 'model.onnx'} gives {', '.join(found)}, and none is called logits. Export it for "
            "text classification."
        )
    shape = found[name]
    if len(shape) != 2 or (isinstance(shape[1], int) and shape[1] != classes):
        raise UserError(
            f"{folder / 'model.onnx'} gives {name} of the shape {shape}, and config.json names {classes} "
            f"labels: the shape must be (texts, {classes}). Give the labels of this model."
        )
    return name
