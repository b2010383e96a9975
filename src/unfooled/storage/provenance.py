"""Which software made a result."""

from __future__ import annotations

import platform
from functools import lru_cache
from importlib import metadata

from unfooled import __version__

_PACKAGES = ("torch", "transformers", "tokenizers", "numpy", "scipy", "spacy", "nltk")


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Versions of unfooled, Python and the libraries that decide results."""
    found = {"unfooled": __version__, "python": platform.python_version(), "machine": platform.machine()}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
