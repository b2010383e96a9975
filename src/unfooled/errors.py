"""Errors that speak to the user: what was wrong, where, and what to do.

Raise :class:`UserError` for anything the user can put right; the commands print it
without a traceback and leave with its exit code. Every message names the file, row or
setting and ends with the remedy.
"""

from __future__ import annotations


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
