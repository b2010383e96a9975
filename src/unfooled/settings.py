"""Settings from outside (``--set sigma=0.3``, YAML, ``unfooled.json``) into frozen dataclasses.

Every defence and predictor is a dataclass whose fields carry a type and, as metadata, the range and
the help text. This file turns names and values into an instance, or says what is wrong with them.
"""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, TypeVar

from unfooled.errors import UsageError, did_you_mean

T = TypeVar("T")


@dataclass(frozen=True)
class SettingInfo:
    """One line of ``--list-defences``."""

    name: str
    default: Any
    help: str


def setting(default: Any, help: str, *, at_least: float | None = None, at_most: float | None = None) -> Any:
    """A dataclass field with a default, a help text (with the paper's symbol) and a closed range."""
    return field(default=default, metadata={"help": help, "at_least": at_least, "at_most": at_most})


def describe_settings(cls: type[Any]) -> list[SettingInfo]:
    return [SettingInfo(f.name, f.default, f.metadata.get("help", "")) for f in fields(cls)]


def parse_assignments(assignments: Sequence[str]) -> dict[str, Any]:
    """``["sigma=0.3", "noise_layers=[0, 2]"]`` as a dictionary; values are read as YAML."""
    import yaml

    values: dict[str, Any] = {}
    for text in assignments:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"--set {text!r}: expected name=value, for example --set sigma=0.3.")
        try:
            values[name.strip()] = yaml.safe_load(value)
        except (yaml.YAMLError, ValueError) as error:  # ValueError: a date such as 2024-13-01
            raise UsageError(f"--set {text!r}: the value cannot be read ({error}).") from error
    return values


def choose(registry: Mapping[str, T], name: str, *, kind: str) -> T:
    """The entry called ``name``; an unknown name is refused with the nearest one and the list."""
    if name in registry:
        return registry[name]
    hint = did_you_mean(name, registry)
    raise UsageError(f"There is no {kind} '{name}'.{hint} {kind.capitalize()}s: {', '.join(registry)}.")


def build(cls: type[T], values: Mapping[str, Any], *, owner: str) -> T:
    """An instance of the dataclass ``cls``; unknown names, wrong types and ranges are refused by name."""
    known = {f.name: f for f in fields(cls)}  # type: ignore[arg-type]
    hints = typing.get_type_hints(cls)
    checked: dict[str, Any] = {}
    for name, value in values.items():
        if name not in known:
            listed = ", ".join(known) or "none"
            raise UsageError(
                f"{owner} has no setting '{name}'.{did_you_mean(name, known)} Its settings: {listed}."
            )
        checked[name] = _coerced(value, hints[name], f"{owner}: {name}")
    for f in fields(cls):  # type: ignore[arg-type]
        value = checked.get(f.name, f.default)
        if value is not MISSING:
            check_range(f"{owner}: {f.name}", value, f.metadata.get("at_least"), f.metadata.get("at_most"))
    return cls(**checked)


def check_range(where: str, value: Any, at_least: float | None, at_most: float | None) -> None:
    """Refuse numbers outside the closed range, and NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError(f"{where} must be a finite number, got {value}.")
    if at_least is not None and value < at_least:
        raise UsageError(f"{where} must be at least {at_least:g}, got {value}.")
    if at_most is not None and value > at_most:
        raise UsageError(f"{where} must be at most {at_most:g}, got {value}.")


def _coerced(value: Any, hint: Any, where: str) -> Any:
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        errors: UsageError | None = None
        for option in typing.get_args(hint):
            try:
                return _coerced(value, option, where)
            except UsageError as error:
                errors = errors or error
        raise UsageError(f"{where} must be {_named(hint)}, got {value!r}.") from errors
    if origin is typing.Literal:
        options = typing.get_args(hint)
        if value in options and not (isinstance(value, bool) ^ any(isinstance(o, bool) for o in options)):
            return value
        raise UsageError(f"{where} must be one of {', '.join(map(repr, options))}, got {value!r}.")
    if origin is tuple:
        if isinstance(value, list | tuple):
            return tuple(_coerced(item, typing.get_args(hint)[0], where) for item in value)
    elif hint is type(None):
        if value is None:
            return None
    elif hint is float:
        # YAML reads 1e-5 (no dot) as text; a number is meant.
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            with suppress(ValueError, OverflowError):
                return float(value)
    elif hint is int:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, float) and value.is_integer():
            return int(value)
    elif isinstance(value, origin or hint):
        return value
    raise UsageError(f"{where} must be {_named(hint)}, got {value!r}.")


def _named(hint: Any) -> str:
    names = {
        int: "a whole number",
        float: "a number",
        str: "text",
        bool: "true or false",
        dict: "names and values",
    }
    names[type(None)] = "empty"
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_named(option) for option in typing.get_args(hint))
    if origin is typing.Literal:
        return "one of " + ", ".join(repr(option) for option in typing.get_args(hint))
    if origin is tuple:
        return f"a list of {_named(typing.get_args(hint)[0])} values"
    return names.get(origin or hint, str(hint))
