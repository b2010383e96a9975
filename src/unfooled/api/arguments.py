"""The arguments of a verb, checked by its annotations before any work."""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import Any, TypeVar

from unfooled.errors import UsageError
from unfooled.files import check_path
from unfooled.parsing import quoted
from unfooled.settings import name_of_type

F = TypeVar("F", bound=Callable[..., Any])


def checks_arguments(verb: F) -> F:
    """The verb, which refuses arguments of other types than it declares, and paths that no system takes."""
    signature = inspect.signature(verb)

    @wraps(verb)
    def checking(*values: Any, **named: Any) -> Any:
        hints = _hints(verb)
        for name, value in signature.bind(*values, **named).arguments.items():
            if name not in hints:
                continue
            if not _fits(value, hints[name]):
                told = name_of_type(hints[name])
                raise UsageError(f"{verb.__name__}: {name} must be {told}, got {quoted(value)}.")
            if isinstance(value, str | Path) and Path in typing.get_args(hints[name]):
                check_path(value, name)
        return verb(*values, **named)

    return checking  # type: ignore[return-value]


@cache
def _hints(verb: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of the named parameters that can be known without loading PyTorch."""
    found = {}
    for name, parameter in inspect.signature(verb).parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            continue
        try:
            found[name] = eval(str(parameter.annotation), verb.__globals__)
        except NameError:  # imported for type checkers only; who takes such a value checks it
            continue
    return found


def _fits(value: Any, hint: Any) -> bool:
    origin = typing.get_origin(hint)
    if hint is Any or hint is object:
        return True
    if hint is None or hint is type(None):
        return value is None
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, option) for option in typing.get_args(hint))
    if origin is typing.Literal:
        return value in typing.get_args(hint)
    if origin is collections.abc.Callable:
        return callable(value)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if origin is collections.abc.Sequence:
        if isinstance(value, list | tuple):
            return all(_fits(one, typing.get_args(hint)[0]) for one in value)
        return hasattr(value, "__len__") and not isinstance(
            value, collections.abc.Mapping
        )  # tensors, columns
    kind = origin or hint
    protocol = getattr(kind, "_is_protocol", False)  # who takes such a value checks it
    return protocol or not isinstance(kind, type) or isinstance(value, kind)
