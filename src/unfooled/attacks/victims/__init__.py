"""Victims that are not ours: functions, Hugging Face, scikit-learn and ONNX models, HTTP endpoints.

>>> open_victim("hf:my-model-folder")
>>> open_victim("classify.py:scores", labels=["ham", "spam"])
>>> open_victim("sklearn:spam.skops")
>>> open_victim("onnx:exported")
>>> open_victim("https://example.org/classify", token_env="MY_TOKEN", rate=5)
>>> as_victim(lambda texts: [[0.1, 0.9] for _ in texts])

Each has ``describe()``: what it is, without credentials, for the record of a run.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

from unfooled.attacks.victim import Victim
from unfooled.attacks.victims.function import FunctionVictim, find_object
from unfooled.attacks.victims.http import HttpSettings, HttpVictim
from unfooled.attacks.victims.scores import BadAnswer, VictimUnavailable
from unfooled.errors import UsageError, did_you_mean

__all__ = ["BadAnswer", "FunctionVictim", "HttpVictim", "VictimUnavailable", "as_victim", "open_victim"]

FORMS = (
    "https://… (an endpoint), hf:NAME (a model folder or hub id), sklearn:FILE.skops, onnx:FOLDER, "
    "module:function or path/file.py:function"
)


def open_victim(spec: str, **options: Any) -> Victim:
    """The victim that ``spec`` names; unknown forms and options are refused."""
    if spec.lower().startswith(("http://", "https://")):
        return _made(HttpVictim, spec, options, more=[field.name for field in fields(HttpSettings)])
    if spec.startswith("hf:"):
        from unfooled.attacks.victims.pipeline import ModelVictim

        names = ("device", "labels", "max_length")
        return _made(ModelVictim.load, spec.removeprefix("hf:"), options, more=names)
    if spec.startswith("sklearn:"):
        from unfooled.attacks.victims.estimator import EstimatorVictim

        return _made(EstimatorVictim.load, spec.removeprefix("sklearn:"), options)
    if spec.startswith("onnx:"):
        from unfooled.attacks.victims.onnx import OnnxVictim

        return _made(OnnxVictim.load, spec.removeprefix("onnx:"), options)
    place, colon, name = spec.rpartition(":")
    if colon and place and name.replace(".", "").isidentifier():
        return as_victim(find_object(spec), spec=spec, **options)
    hint = f" Did you mean hf:{spec}?" if os.path.isdir(spec) else ""  # a name of any length
    raise UsageError(f"{_hidden(spec)!r} does not name a victim.{hint} Victims: {FORMS}.")


def as_victim(obj: Any, labels: Sequence[str] | None = None, *, spec: str = "", **options: Any) -> Victim:
    """A victim from a function, an object with ``scores(texts)`` or ``predict_proba``, a pipeline, a spec.

    A victim is returned unchanged.
    """
    if isinstance(obj, str):
        return open_victim(obj, labels=labels, **options)
    if isinstance(obj, Victim):
        if labels is not None or options:
            raise UsageError("This is a victim already: its labels and options are its own.")
        return obj
    options["labels"] = labels
    if hasattr(obj, "task") and hasattr(obj, "model") and hasattr(obj, "tokenizer") and callable(obj):
        from unfooled.attacks.victims.pipeline import PipelineVictim

        return _made(PipelineVictim, obj, options)
    if callable(getattr(obj, "predict_proba", None)) and not (inspect.isclass(obj) or hasattr(obj, "scores")):
        from unfooled.attacks.victims.estimator import EstimatorVictim

        return _made(EstimatorVictim, obj, options | ({"spec": spec} if spec else {}))
    function = obj if inspect.isfunction(obj) else getattr(obj, "scores", obj)
    if not callable(function) or inspect.isclass(obj):
        raise UsageError(
            f"{spec or repr(obj)[:80]} is {_article(obj)}, which cannot be attacked. Give a function from a "
            "list of texts to one list of class probabilities per text, or an object with such a method, "
            "scores(texts) or predict_proba(texts)."
        )
    return _made(FunctionVictim, function, options | ({"spec": spec} if spec else {}))


def _made(
    make: Callable[..., Any], first: Any, options: dict[str, Any], *, more: Sequence[str] = ()
) -> Victim:
    hidden = ("clock", "sleep", "name", "sha256", "spec")
    parameters = inspect.signature(make).parameters.values()
    own = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in hidden]
    known = [*dict.fromkeys([*own, *more])]
    for name in options:
        if name not in known and name not in hidden:
            hint = did_you_mean(name, known)
            raise UsageError(f"This victim has no option '{name}'.{hint} Its options: {', '.join(known)}.")
    victim: Victim = make(first, **options)
    return victim


def _hidden(spec: str) -> str:
    """Without what may be a password."""
    return spec if "@" not in spec else "…@" + spec.rpartition("@")[2]


def _article(obj: Any) -> str:
    return "a class" if inspect.isclass(obj) else f"of type {type(obj).__name__}"
