"""Settings are declared once, as fields of frozen dataclasses, and serve every way in.

A field carries its type and, as metadata, its help text and range. From that come the instance built of names
and values (``--set sigma=0.3``, YAML, plan files, ``unfooled.json``), the options of the commands
(``unfooled/cli/declared.py``) and the tables of the documentation (``docs/tables.py``).
"""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from typing import Any, TypeVar

from unfooled.errors import UsageError, did_you_mean

T = TypeVar("T")


@dataclass(frozen=True)
class SettingInfo:
    """One setting as it is declared: a line of ``--list-defences``, a row of a table."""

    name: str
    default: Any
    help: str
    at_least: float | None = None
    at_most: float | None = None


def setting(
    default: Any,
    help: str,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    key: str | None = None,
    commas: bool = False,
) -> Any:
    """A dataclass field with a default, a help text (with the paper's symbol) and a closed range.

    ``MISSING`` as default: it must be given. ``key`` is the name in files if that is a word of Python
    (``for``). ``commas``: on the command line the values of a list are separated by commas.
    """
    about = {"help": help, "at_least": at_least, "at_most": at_most, "key": key, "commas": commas}
    if default is dict:
        return field(default_factory=dict, metadata=about)
    return field(default=default, metadata=about)


def describe_settings(cls: type[Any]) -> list[SettingInfo]:
    """The settings of a dataclass in order, named as in files."""
    return [
        SettingInfo(
            key_of(f),
            {} if f.default_factory is not MISSING else f.default,
            f.metadata.get("help", ""),
            f.metadata.get("at_least"),
            f.metadata.get("at_most"),
        )
        for f in fields(cls)
    ]


def key_of(declared: Field[Any]) -> str:
    """The name of a setting in files and on the command line."""
    return declared.metadata.get("key") or declared.name


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
    raise UsageError(f"There is no {kind} '{name}'.{hint} Choose one of: {', '.join(registry)}.")


def build(cls: type[T], values: Mapping[str, Any], *, owner: str, noun: str = "setting") -> T:
    """An instance of the dataclass ``cls``; unknown names, wrong types and ranges are refused by name.

    A field that is itself a dataclass, or a list of them, is built from names and values in the same way.
    """
    known = {key_of(f): f for f in fields(cls)}  # type: ignore[arg-type]
    check_names(values, known, owner, noun=noun)
    hints = typing.get_type_hints(cls)
    checked: dict[str, Any] = {}
    for key, f in known.items():
        where = f"{owner}: {key}"
        if key in values:
            checked[f.name] = _coerced(values[key], hints[f.name], where)
        elif f.default is MISSING and f.default_factory is MISSING:
            raise UsageError(f"{where} is missing. Add {key}: ….")
        value = checked.get(f.name, f.default)
        if value is not MISSING:
            check_range(where, value, f.metadata.get("at_least"), f.metadata.get("at_most"))
    try:
        return cls(**checked)
    except UsageError as error:
        raise UsageError(f"{owner}: {error}") if noun == "key" else error from error


def check_names(
    values: Mapping[str, Any], known: Iterable[str], owner: str, *, noun: str = "setting"
) -> None:
    """Refuse a name that is not known, with the nearest one and the list."""
    known = list(known)
    for name in values:
        if name not in known:
            raise UsageError(
                f"{owner} has no {noun} '{name}'.{did_you_mean(name, known)} "
                f"Its {noun}s: {', '.join(known) or 'none'}."
            )


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
            if is_dataclass(option) and isinstance(value, Mapping):
                return _coerced(value, option, where)  # its own message says more
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
    if is_dataclass(hint):
        short = getattr(hint, "short", None)
        if isinstance(value, str) and short is not None:
            value = {short: value}
        if isinstance(value, Mapping):
            return build(hint, value, owner=where, noun="key")  # type: ignore[arg-type]
    elif origin is tuple:
        item = typing.get_args(hint)[0]
        if isinstance(value, list | tuple):
            places = [f"{where}[{number}]" if is_dataclass(item) else where for number in range(len(value))]
            return tuple(_coerced(one, item, place) for one, place in zip(value, places, strict=True))
        if item in (int, float) and isinstance(value, str | int | float) and not isinstance(value, bool):
            return (_coerced(value, item, where),)  # one number is a list of one
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
    verb = "hold" if (origin or hint) is dict or is_dataclass(hint) else "be"
    raise UsageError(f"{where} must {verb} {_named(hint)}, got {value!r}.")


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
        item = typing.get_args(hint)[0]
        example = getattr(item, "short", None)
        return f"a list ([{{{example}: …}}, …])" if example else f"a list of {_named(item)} values"
    if is_dataclass(hint):
        return "names and values"
    return names.get(origin or hint, str(hint))
