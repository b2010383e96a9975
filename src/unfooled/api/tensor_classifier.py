"""Any PyTorch module or function that gives logits, made a classifier with the noisy vote."""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING, Any

from unfooled.errors import UsageError

if TYPE_CHECKING:
    from torch import Tensor

    from unfooled.predictors import Classifier

PYTHON = "python:"


def open_module(what: Any) -> Any:
    """A module or function as it is, or the one that ``python:FILE.py:NAME`` (or ``module:NAME``) names.

    A class, or a function that needs no argument, is called to make the model.
    """
    if not isinstance(what, str):
        return what
    from torch import nn

    from unfooled.attacks.victims.function import find_object

    found = find_object(what.removeprefix(PYTHON))
    if not callable(found):
        raise UsageError(f"{what} is {type(found).__name__}, not a module or function that gives logits.")
    if isinstance(found, nn.Module):
        return found
    needed = [
        one
        for one in inspect.signature(found).parameters.values()
        if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]
    return found() if not needed else found


def tensor_classifier(what: Any, inputs: Tensor, *, sigma: float | None, threat: str) -> Classifier:
    """The vote over noise at the values of ``inputs``: Gaussian σ, or Laplace of that scale for l1.

    Class names are the numbers of the outputs. For other names, or a predictor of your own, build the
    ``Classifier`` around a ``TensorModel`` yourself.
    """
    from unfooled.models.tensor import TensorModel, check_tensors
    from unfooled.predictors import Classifier, Vote

    if sigma is None:
        raise UsageError("Give the noise to certify with: sigma=0.25 (--sigma 0.25), in the inputs' units.")
    if not (math.isfinite(sigma) and sigma > 0):
        raise UsageError(f"sigma must be a finite number above 0, got {sigma}.")
    check_tensors(inputs)
    model = TensorModel(open_module(what), inputs.shape[1:], dtype=inputs.dtype, device=_device_of(inputs))
    predictor = Vote(
        sigma=sigma,
        noise_layers=("embeddings",),
        kind="laplace" if threat == "l1" else "gaussian",
        masking="none",
        masked_tokens=0,
    )
    names = [str(number) for number in range(model.num_labels)]
    return Classifier(model, predictor, labels=names, defence="none")


def _device_of(inputs: Tensor) -> str | None:
    """Inputs on an accelerator stay there; else the model's own device is meant."""
    return None if inputs.device.type == "cpu" else str(inputs.device)


def model_name(what: Any) -> str:
    """What reports call the model."""
    if isinstance(what, str):
        return what
    named = what if hasattr(what, "__qualname__") else type(what)
    return f"a model of tensors ({named.__qualname__})"
