"""Settings are declared once, as fields of frozen dataclasses, and serve every way in.

A field carries its type and, as metadata, its help text and range. From that come the instance built of names
and values (``--set sigma=0.3``, YAML, plan files, ``unfooled.json``), the options of the commands
(``cli/options/declared.py``) and the tables of the documentation (``docs/tables.py``). Documents that are
read back from disk are checked by their types in the same way (:func:`checked`).
"""

from __future__ import annotations

import collections.abc
import math
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

from unfooled.errors import UsageError, did_you_mean
from unfooled.parsing import parse_yaml, quoted

T = TypeVar("T")

MOST_VOTES = 100_000
"""Votes, or other forward passes, of one prediction."""
MOST_DRAWS = 10_000_000
"""Draws of one certificate."""
MOST_AT_ONCE = 65_536
"""Inputs of one batch."""
MOST_WORKERS = 256
"""Processes that share the work of one command."""
LARGEST_SEED = 2**32 - 1
LARGEST_SECRET_SEED = 2**63 - 1
"""What every random generator takes."""


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
    values: dict[str, Any] = {}
    for text in assignments:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"--set {quoted(text)}: expected name=value, for example --set sigma=0.3.")
        values[name.strip()] = parse_yaml(value, f"--set {quoted(text)}: the value")
    return values


def choose(registry: Mapping[str, T], name: str, *, kind: str) -> T:
    """The entry called ``name``; an unknown name is refused with the nearest one and the list."""
    if isinstance(name, str) and name in registry:
        return registry[name]
    hint = did_you_mean(name, registry)
    raise UsageError(f"There is no {kind} {quoted(name)}.{hint} Choose one of: {', '.join(registry)}.")


def build(cls: type[T], values: Mapping[str, Any], *, owner: str, noun: str = "setting") -> T:
    """An instance of the dataclass ``cls``; unknown names, wrong types and ranges are refused by name.

    A field that is itself a dataclass, or a list of them, is built from names and values in the same way.
    """
    known = {key_of(f): f for f in fields(cls)}  # type: ignore[arg-type]
    check_names(values, known, owner, noun=noun)
    hints = _hints(cls)  # type: ignore[arg-type]
    taken: dict[str, Any] = {}
    for key, f in known.items():
        where = f"{owner}: {key}"
        if key in values:
            taken[f.name] = checked(values[key], hints[f.name], where)
        elif f.default is MISSING and f.default_factory is MISSING:
            raise UsageError(f"{where} is missing. Add {key}: ….")
        value = taken.get(f.name, f.default)
        if value is not MISSING:
            check_range(where, value, f.metadata.get("at_least"), f.metadata.get("at_most"))
    try:
        return cls(**taken)
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
                f"{owner} has no {noun} {quoted(name)}.{did_you_mean(name, known)} "
                f"Its {noun}s: {', '.join(known) or 'none'}."
            )


def check_range(where: str, value: Any, at_least: float | None, at_most: float | None) -> None:
    """Refuse numbers outside the closed range, and NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError(f"{where} must be a finite number, got {value}.")
    if at_least is not None and value < at_least:
        raise UsageError(f"{where} must be at least {number_text(at_least)}, got {quoted(value)}.")
    if at_most is not None and value > at_most:
        raise UsageError(f"{where} must be at most {number_text(at_most)}, got {quoted(value)}.")


def check_whole(where: str, value: object, *, at_least: int = 1, at_most: int | None = None) -> None:
    """Refuse what is no whole number in the closed range; None stands for no limit."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int):
        raise UsageError(f"{where} must be a whole number, got {quoted(value)}.")
    check_range(where, value, at_least, at_most)


def check_seed(seed: int | None, where: str = "--seed", *, at_most: int = LARGEST_SEED) -> None:
    """Refuse what is no seed; None stands for one drawn in secret.

    The range is the same everywhere, but certificates also take the longer seeds that were drawn in secret.
    """
    check_whole(where, seed, at_least=0, at_most=at_most)


def number_text(bound: float) -> str:
    """A bound of a range as tables and messages show it."""
    return f"{bound:,}" if isinstance(bound, int) or bound.is_integer() else f"{bound:g}"


def checked(value: Any, hint: Any, where: str) -> Any:
    """The value as the type says, or a refusal that names the place.

    Types are those of fields: numbers, text, lists, names and values, dataclasses (no other keys) and
    TypedDicts (other keys are left alone).
    """
    origin, options = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any or hint is object:
        return value
    if origin in (typing.Union, types.UnionType):
        return _one_of(value, options, where, hint)
    if origin is typing.Literal:
        if value in options and not (isinstance(value, bool) ^ any(isinstance(o, bool) for o in options)):
            return value
        raise UsageError(f"{where} must be one of {', '.join(map(repr, options))}, got {quoted(value)}.")
    if is_dataclass(hint):
        short = getattr(hint, "short", None)
        if isinstance(value, str) and short is not None:
            value = {short: value}
        if isinstance(value, Mapping):
            return build(hint, value, owner=where, noun="key")  # type: ignore[arg-type]
    elif typing.is_typeddict(hint):
        if isinstance(value, Mapping):
            return _document(value, hint, where)
    elif origin in (tuple, list):
        if isinstance(value, list | tuple):
            return _listed(value, origin, options, where)
        one = isinstance(value, str | int | float) and not isinstance(value, bool)
        if one and origin is tuple and options[0] in (int, float) and options[1:] == (Ellipsis,):
            return (checked(value, options[0], where),)  # one number is a list of one
    elif origin in (dict, Mapping, collections.abc.Mapping):
        if isinstance(value, Mapping):
            return {
                checked(key, options[0], f"{where}: the name"): checked(item, options[1], f"{where}: {key}")
                for key, item in value.items()
            }
    elif hint is type(None):
        if value is None:
            return None
    elif hint is float:
        # YAML reads 1e-5 (no dot) as text; a number is meant.
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            with suppress(ValueError, OverflowError):
                number = float(value)
                if math.isfinite(number):
                    return number
                raise _NotFinite(f"{where} must be a finite number, got {number}.")
    elif hint is int:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, float) and value.is_integer():
            return int(value)
    elif isinstance(value, origin or hint):
        return value
    verb = "hold" if name_of_type(hint) == NAMES_AND_VALUES else "be"
    raise UsageError(f"{where} must {verb} {name_of_type(hint)}, got {quoted(value)}.")


class _NotFinite(UsageError):
    """A number, but not one to compute with: no other type of a choice fits it either."""


def _one_of(value: Any, options: Sequence[Any], where: str, hint: Any) -> Any:
    errors: UsageError | None = None
    for option in options:
        if isinstance(value, Mapping) and (is_dataclass(option) or typing.is_typeddict(option)):
            return checked(value, option, where)  # its own message says more
        try:
            return checked(value, option, where)
        except _NotFinite:
            raise
        except UsageError as error:
            errors = errors or error
    raise UsageError(f"{where} must be {name_of_type(hint)}, got {quoted(value)}.") from errors


def _document(value: Mapping[str, Any], shape: Any, where: str) -> dict[str, Any]:
    found = dict(value)
    for key, hint in _hints(shape).items():
        if key in value:
            found[key] = checked(value[key], hint, f"{where}: {key}")
        elif key in shape.__required_keys__:
            raise UsageError(f"{where}: {key} is missing.")
    return found


def _listed(value: Sequence[Any], kind: Any, items: Sequence[Any], where: str) -> Any:
    if kind is list or items[1:] == (Ellipsis,):
        hints = [items[0]] * len(value)
    elif len(items) == len(value):
        hints = list(items)
    else:
        raise UsageError(f"{where} must be a list of {len(items)} values, got {quoted(value)}.")
    deep = bool(items) and (is_dataclass(items[0]) or typing.is_typeddict(items[0]))
    return kind(
        checked(one, hint, f"{where}[{number}]" if deep else where)
        for number, (one, hint) in enumerate(zip(value, hints, strict=True))
    )


@cache
def _hints(cls: Any) -> dict[str, Any]:
    return typing.get_type_hints(cls)


NAMES_AND_VALUES = "names and values"


def name_of_type(hint: Any) -> str:
    """A type as messages call it."""
    names = {
        int: "a whole number",
        float: "a number",
        str: "text",
        bool: "true or false",
        type(None): "empty",
    }
    names |= dict.fromkeys((dict, collections.abc.Mapping), NAMES_AND_VALUES)
    origin, options = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(name_of_type(option) for option in options)
    if origin is typing.Literal:
        return "one of " + ", ".join(repr(option) for option in options)
    if origin in (tuple, list):
        example = getattr(options[0], "short", None)
        return (
            f"a list ([{{{example}: …}}, …])" if example else f"a list of {name_of_type(options[0])} values"
        )
    if is_dataclass(hint) or typing.is_typeddict(hint):
        return NAMES_AND_VALUES
    kind = origin or hint
    return names.get(kind) or (kind.__name__ if isinstance(kind, type) else str(hint))
