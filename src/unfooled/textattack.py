"""A trained run as a TextAttack model, from TextAttack's environment or from unfooled's.

>>> from unfooled.textattack import ModelWrapper
>>> model = ModelWrapper("runs/rsmi", python="/path/to/unfooled/bin/python")

TextAttack and unfooled need different versions of transformers. With ``python=`` the run is loaded by that
interpreter, in a process of its own (``python -m unfooled.textattack RUN``: JSON lines over pipes), and this
file needs numpy alone: install unfooled with ``--no-deps`` beside TextAttack, or copy this one file.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

PROTOCOL = 1
_Base: Any = object
if __name__ != "__main__":
    try:  # TextAttack asks isinstance(model, its ModelWrapper)
        import textattack.models.wrappers

        _Base = textattack.models.wrappers.ModelWrapper
    except Exception:  # absent, or broken by another library's version: not needed to answer
        pass


class WrapperError(RuntimeError):
    """The run cannot be loaded or does not answer."""


class ModelWrapper(_Base):
    """Scores of a run's deployed predictor, as TextAttack's ``ModelWrapper``.

    ``python``: the interpreter of an environment that has unfooled; without it the run is loaded here.
    ``seed``: None draws fresh noise for every text of every call, as a service does; a number fixes it.
    ``output``: what the scores of a vote are, ``vote`` (shares) or ``mean-logit``; None: as the run has it.
    ``labels`` are the class names: TextAttack's class numbers must mean their positions. TextAttack knows no
    abstention: a predictor that abstains passes the scores of its vote, a text it cannot read equal scores.
    """

    def __init__(
        self,
        run: str | os.PathLike[str],
        *,
        python: str | os.PathLike[str] | None = None,
        device: str = "auto",
        seed: int | None = None,
        output: str | None = None,
    ) -> None:
        self._run = (
            _Here(run, device, seed, output) if python is None else _There(run, device, seed, output, python)
        )
        info = self._run.info()
        self.labels: tuple[str, ...] = tuple(info["labels"])
        self.randomised: bool = info["randomised"]
        self.max_length: int = info["max_length"]
        self.model: Any = self._run.model(info)
        self.tokenizer: Any = self._run.tokenizer(info)

    def __call__(self, text_input_list: Sequence[Any], **_: Any) -> np.ndarray:
        """Scores ``(texts, classes)`` of texts or (text, pair) tuples; each row sums to one."""
        if isinstance(text_input_list, str):
            raise TypeError("Give a list of texts: wrapper([text]).")
        scores = np.array(self._run.scores([_plain(text) for text in text_input_list]), dtype=np.float64)
        # TextAttack applies softmax again to rows that do not sum to one within 1e-6.
        return scores.reshape(-1, len(self.labels)) / (
            scores.sum(axis=-1, keepdims=True) if len(scores) else 1
        )

    def get_grad(self, text_input: Any) -> dict[str, Any]:
        """Token ids and the gradient ``(tokens, width)`` of the loss of the run's own answer.

        As in TextAttack's wrappers, special tokens included; without dropout, so it is the same every time.
        """
        if self.randomised:
            raise NotImplementedError(
                "This run answers by a vote over noise, which has no gradient that TextAttack could use. "
                "Choose a recipe without gradients, or attack it with unfooled's adaptive recipe."
            )
        found = self._run.gradient(_plain(text_input))
        return {"ids": found["ids"], "gradient": np.array(found["gradient"], dtype=np.float32)}

    def close(self) -> None:
        """End the process that ``python`` started; it also ends by itself with this one."""
        self._run.close()

    def _tokenize(self, inputs: Sequence[Any]) -> list[list[str]]:
        found: list[list[str]] = self._run.tokens([_plain(text) for text in inputs])
        return found


class _Here:
    """The run, loaded in this process."""

    def __init__(
        self, run: str | os.PathLike[str], device: str, seed: int | None, output: str | None
    ) -> None:
        try:
            from unfooled.api.load import load
            from unfooled.models import as_text
            from unfooled.predictors.override import with_predictor
        except ImportError as error:
            raise WrapperError(
                f"unfooled cannot load a run in this environment ({error}). Name the interpreter of one "
                "where it is installed: ModelWrapper(run, python='…/bin/python')."
            ) from error
        changes = None if output is None else {"output": output}
        self.classifier = with_predictor(load(Path(run), device=device), changes)
        self.text = as_text(self.classifier.model)
        self.seed = seed

    def info(self) -> dict[str, Any]:
        text = self.text
        return {
            "protocol": PROTOCOL,
            "labels": list(self.classifier.labels),
            "randomised": self.classifier.predictor.randomised,
            "max_length": text.max_length,
            "pad_token_id": text.tokenizer.pad_token_id,
            # What TextAttack's A2T reads: its limit is two less.
            "positions": getattr(text.module.config, "max_position_embeddings", None) or text.max_length + 2,
        }

    def model(self, info: dict[str, Any]) -> Any:
        return self.classifier.model.module

    def tokenizer(self, info: dict[str, Any]) -> Any:
        return self.text.tokenizer

    def scores(self, inputs: Sequence[Any]) -> list[list[float]]:
        texts, pairs = _columns(inputs)
        labels = self.classifier.labels
        unread = [1 / len(labels)] * len(labels)
        return [
            [answer.scores[label] for label in labels] if answer.scores else unread
            for answer in self.classifier.predict(texts, pairs, seed=self.seed)
        ]

    def gradient(self, text: Any) -> dict[str, Any]:
        self.text.evaluating()
        encoded = self.text.encode(*_columns([text]))
        with self.text.in_float32():  # bfloat16 gradients rank words otherwise
            gradient, _ = self.text.gradient(self.text.batch(encoded))
        return {"ids": list(encoded[0].ids), "gradient": gradient[0].float().cpu().tolist()}

    def tokens(self, inputs: Sequence[Any]) -> list[list[str]]:
        tokenizer = self.text.tokenizer
        encoded = self.text.encode(*_columns(inputs))
        return [tokenizer.convert_ids_to_tokens(list(item.ids)) for item in encoded]

    def close(self) -> None:
        pass


class _There:
    """The run, loaded by another interpreter; started again where a copy of the wrapper needs it."""

    def __init__(
        self,
        run: str | os.PathLike[str],
        device: str,
        seed: int | None,
        output: str | None,
        python: str | os.PathLike[str],
    ) -> None:
        folder = os.path.abspath(run)
        self.command = [os.fspath(python), "-m", "unfooled.textattack", folder, "--device", device]
        self.command += [] if seed is None else ["--seed", str(seed)]
        self.command += [] if output is None else ["--output", output]
        self.__setstate__(self.__getstate__())

    def __getstate__(self) -> dict[str, Any]:
        return {"command": self.command}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.command = state["command"]
        self._process: Any = None
        self._lock = threading.Lock()

    def info(self) -> dict[str, Any]:
        found: dict[str, Any] = self._ask("info")
        if found["protocol"] != PROTOCOL:
            raise WrapperError("This file and the unfooled of the other environment do not fit: update both.")
        return found

    def model(self, info: dict[str, Any]) -> Any:
        classes = dict(enumerate(info["labels"]))
        config = {
            "max_position_embeddings": info["positions"],
            "id2label": classes,
            "num_labels": len(classes),
        }
        return RemoteModel(config=SimpleNamespace(**config))

    def tokenizer(self, info: dict[str, Any]) -> Any:
        return SimpleNamespace(model_max_length=info["max_length"], pad_token_id=info["pad_token_id"])

    def scores(self, inputs: Sequence[Any]) -> Any:
        return self._ask("scores", inputs)

    def gradient(self, text: Any) -> Any:
        return self._ask("gradient", text)

    def tokens(self, inputs: Sequence[Any]) -> Any:
        return self._ask("tokens", inputs)

    def close(self) -> None:
        if self._process is not None:
            self._end()
            self._process = None

    def _ask(self, method: str, *arguments: Any) -> Any:
        with self._lock:
            if self._process is None:
                self._start()
            try:
                self._process.stdin.write(json.dumps([method, *arguments]).encode() + b"\n")
                self._process.stdin.flush()
                line = self._process.stdout.readline()
            except OSError:
                line = b""
            if not line:
                code = self._process.wait()
                self.close()
                raise WrapperError(
                    f"{self.command[0]} ended with code {code} and gave no answer; its own message stands "
                    f"above. See that `{self.command[0]} -c 'import unfooled'` works."
                )
        answer = json.loads(line)
        if "error" in answer:
            raise WrapperError(answer["error"])
        return answer["ok"]

    def _start(self) -> None:
        pipe = subprocess.PIPE
        try:
            # A session of its own: Ctrl-C is for TextAttack, which then still writes its results.
            self._process = subprocess.Popen(self.command, stdin=pipe, stdout=pipe, start_new_session=True)
        except OSError as error:
            raise WrapperError(
                f"{self.command[0]} cannot be started ({error.strerror}). Name the Python interpreter of an "
                "environment that has unfooled."
            ) from error
        self._end = weakref.finalize(self, _end, self._process)


class RemoteModel(SimpleNamespace):
    """Stands where TextAttack looks for a network; the network is in the other process."""


def _end(process: Any) -> None:
    with contextlib.suppress(OSError):  # gone already
        process.stdin.close()  # the other side leaves its loop
    process.wait()
    process.stdout.close()


def _plain(text: Any) -> Any:
    """A text, or both texts of a pair as a list."""
    if isinstance(text, str):
        return text
    if isinstance(text, tuple | list) and len(text) == 2 and all(isinstance(part, str) for part in text):
        return list(text)
    raise TypeError(f"A text or a pair of texts is needed, got {text!r:.80}.")


def _columns(inputs: Sequence[Any]) -> tuple[list[str], list[str] | None]:
    if not any(isinstance(text, list) for text in inputs):
        return list(inputs), None
    if any(isinstance(text, str) for text in inputs):
        raise TypeError("Texts and pairs cannot be asked together.")
    return [text for text, _ in inputs], [pair for _, pair in inputs]


def main() -> int:
    """Answer for a run, one JSON line per request, until the input ends."""
    parser = argparse.ArgumentParser(prog="python -m unfooled.textattack", description=main.__doc__)
    parser.add_argument("run")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--output")
    options = parser.parse_args()
    # Answers have the pipe to themselves; whatever else prints goes to stderr.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="ascii")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    run: _Here | None = None
    for line in sys.stdin.buffer:
        try:
            method, *arguments = json.loads(line)
            run = run or _Here(options.run, options.device, options.seed, options.output)
            answer = {"ok": getattr(run, method)(*arguments)}
        except Exception as error:
            speaks = type(error).__module__.startswith("unfooled") or isinstance(error, WrapperError)
            answer = {"error": str(error) if speaks else f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
