"""Pieces of a plan as YAML gives them, taken apart with messages that name the file and the key."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, TypeVar

from unfooled.errors import UsageError, did_you_mean
from unfooled.settings import build, check_names, check_range

T = TypeVar("T")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,59}")


@contextmanager
def at(where: str) -> Iterator[None]:
    """Puts the place before the message of whatever is refused inside."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error


def plain(value: Any) -> Any:
    """The value as YAML and JSON have it: lists for tuples, copies throughout."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def mapping(value: Any, where: str) -> dict[str, Any]:
    """Names and values; nothing counts as none."""
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise UsageError(f"{where} must hold names and values, for example {{lr: 5.0e-05}}, got {value!r}.")
    return value


def entries(
    values: Mapping[str, Any], key: str, source: str, short: str, *, least: int = 0
) -> Iterator[tuple[str, dict[str, Any]]]:
    """(place, names and values) of each item of a list; an item that is only text means ``short``."""
    found = values.get(key)
    found = [] if found is None else found
    if not isinstance(found, list):
        raise UsageError(f"{source}: {key} must be a list: {key}: [{{{short}: …}}, …].")
    if len(found) < least:
        raise UsageError(f"{source}: {key} is missing. Name at least one: {key}: [{{{short}: …}}, …].")
    for number, item in enumerate(found):
        where = f"{source}: {key}[{number}]"
        yield where, {short: item} if isinstance(item, str) else mapping(item or None, where)


def section(
    cls: type[T],
    values: Mapping[str, Any],
    where: str,
    defences: Sequence[str] | None = None,
    *,
    name_from: str | None = None,
) -> T:
    """An instance of a plan's dataclass; ``for`` becomes ``only``, all defences if it is not given."""
    known = ["for" if f.name == "only" else f.name for f in fields(cls)]  # type: ignore[arg-type]
    check_names(values, known, where, noun="key")
    given = dict(values)
    required = name_from or ("name" if "name" in known else None)
    if required is not None and not isinstance(given.get(required), str):
        raise UsageError(f"{where}: {required} is missing or not text. Add {required}: ….")
    if "name" in known:
        given.setdefault("name", given[str(required)])
        check_name(given["name"], f"{where}: name")
    if defences is not None:
        given["only"] = _only(given.pop("for", None), f"{where}: for", defences)
    return build(cls, given, owner=where)


def _only(value: Any, where: str, defences: Sequence[str]) -> list[str]:
    if value is None:
        return list(defences)
    chosen = [value] if isinstance(value, str) else value
    if not isinstance(chosen, list) or not chosen:
        raise UsageError(f"{where} must be a list of defences of this plan: {', '.join(defences)}.")
    for name in chosen:
        check_defence(name, where, defences)
    return [name for name in defences if name in chosen]


def check_defence(name: Any, where: str, defences: Sequence[str]) -> None:
    """Refuse a defence that the plan does not have."""
    if name not in defences:
        hint = did_you_mean(name, defences)
        raise UsageError(
            f"{where}: the plan has no defence {name!r}.{hint} Its defences: {', '.join(defences)}."
        )


def check_name(name: Any, where: str) -> str:
    """A name that can be part of a folder's."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise UsageError(
            f"{where} must be a short name of letters, digits and . _ + - (it names folders), got {name!r}."
        )
    return name


def check_unique(parts: Sequence[Any], where: str) -> None:
    names = [part.name for part in parts]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{where}: the name '{name}' is given twice. Give each its own with name: ….")


def check_seeds(value: Any, where: str) -> tuple[int, ...]:
    seeds = value if isinstance(value, list) else [value]
    whole = all(isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed < 2**32 for seed in seeds)
    if not seeds or not whole or len(set(seeds)) != len(seeds):
        raise UsageError(f"{where} must be different whole numbers from 0, for example [0, 1, 2].")
    return tuple(seeds)


def share(value: Any, where: str) -> float:
    """A number above 0 and at most 1."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"{where} must be a number above 0 and at most 1, got {value!r}.")
    check_range(where, float(value), None, 1)
    if value <= 0:
        raise UsageError(f"{where} must be above 0, got {value}.")
    return float(value)
