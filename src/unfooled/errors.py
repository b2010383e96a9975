"""Errors that speak to the user: what was wrong, where, and what to do.

Raise :class:`UserError` for anything the user can put right; the commands print it
without a traceback and leave with its exit code. Every message names the file, row or
setting and ends with the remedy.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class UserError(Exception):
    """Something the user can put right. Commands exit with code 1."""

    exit_code = 1


class UsageError(UserError):
    """A setting, option or argument that cannot be used. Commands exit with code 2."""

    exit_code = 2


class DataError(UserError):
    """A data file or dataset that cannot be read as asked."""


class AssetError(UserError):
    """A resource that could not be fetched, placed or verified."""


class QueriesSpent(UserError):
    """A budget of queries ended: the work stops, and what is done is reported."""


def needs_extra(module: str, extra: str, purpose: str) -> Any:
    """A module of an optional package; without the package, the command that installs it is told."""
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError as error:
        raise UserError(
            f"{module.partition('.')[0]} {purpose}, and is not installed here ({error}). "
            f"Install it: pip install 'unfooled[{extra}]'."
        ) from error


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """`` Did you mean 'sigma'?`` for a name close to one that is known, else nothing."""
    from rapidfuzz import fuzz, process

    plain = {one: _comparable(one) for one in known}
    given = _comparable(str(name))
    begun = [one for one, text in plain.items() if len(given) > 1 and text.startswith(given)]
    if 0 < len(begun) < 4:
        return f" Did you mean {' or '.join(map(repr, begun))}?"
    close = process.extractOne(given, plain, scorer=fuzz.ratio, score_cutoff=60)
    return f" Did you mean '{close[2]}'?" if close else ""


def _comparable(name: str) -> str:
    return name.lower().replace("_", "-")
