"""Which software, on what system, made a result, and by which command."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from importlib import metadata

from unfooled import __version__

_PACKAGES = ("torch", "transformers", "tokenizers", "datasets", "numpy", "scipy", "spacy", "nltk")
_COMMAND: ContextVar[str | None] = ContextVar("command", default=None)


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Versions of unfooled, Python, the system and the libraries that decide results."""
    found = {
        "unfooled": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(terse=True),
        "machine": platform.machine(),
    }
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


@contextmanager
def recorded_command(command: str) -> Iterator[None]:
    """Results made inside say that this command made them."""
    before = _COMMAND.set(command)
    try:
        yield
    finally:
        _COMMAND.reset(before)


def command() -> str | None:
    """The command that is running, as results record it; None in Python."""
    return _COMMAND.get()
