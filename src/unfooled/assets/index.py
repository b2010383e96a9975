"""Fetching one named file from the package index that pip is set up for, without running anything.

Reads pip's own settings (files and environment), looks the project up in each index by the simple
API (PEP 503 HTML or PEP 691 JSON) and in each ``find-links`` folder, and downloads the file whose
name matches. Local ``file://`` indexes, proxies, certificates, time-outs and passwords in addresses
or ``.netrc`` work as they do for pip.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from http.client import HTTPException
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit
from urllib.request import url2pathname

from unfooled.assets.connection import Connection, LocalDiskError, without_password
from unfooled.assets.download_bar import Update
from unfooled.assets.manifest import Source
from unfooled.errors import AssetError

_ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
_DEFAULT_INDEX = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"


@dataclass(frozen=True)
class Settings:
    """The part of pip's settings that says where files are and how to reach them."""

    indexes: tuple[str, ...]
    find_links: tuple[str, ...]
    proxy: str = ""
    cert: str = ""
    timeout: float = 60.0


def download(source: Source, work: Path, update: Update) -> Path:
    """The source's file, saved below ``work`` and not yet checked."""
    settings = pip_settings()
    connection = Connection(proxy=settings.proxy, cert=settings.cert, timeout=settings.timeout)
    reasons = []
    for place in _places(settings, source):
        try:
            link = _link(connection, place, source)
            if link is None:
                reasons.append(f"{without_password(place)} does not list it")
                continue
            return connection.save(link, work / source.filename, source, update)
        except (HTTPException, OSError, ValueError) as error:
            if isinstance(error, LocalDiskError):
                raise
            reasons.append(f"{without_password(place)}: {error}")
    raise AssetError(
        f"{source.filename} was not found: " + ("; ".join(reasons) or "no package index is set.")
    )


def pip_settings() -> Settings:
    """pip's own settings: the environment first, then ``[download]``, then ``[global]``."""
    listed: dict[str, str] = {}
    for line in _python("-m", "pip", "config", "list").splitlines():
        key, _, value = line.partition("=")
        if value:
            listed[key.strip()] = str(ast.literal_eval(value))

    def setting(name: str) -> str:
        return next(
            (listed[f"{s}.{name}"] for s in (":env:", "download", "global") if f"{s}.{name}" in listed), ""
        )

    indexes = []
    if setting("no-index").lower() not in ("1", "true", "yes", "on"):
        indexes = [
            setting("index-url") or _python("-c", _DEFAULT_INDEX).strip(),
            *setting("extra-index-url").split(),
        ]
    return Settings(
        indexes=tuple(indexes),
        find_links=tuple(setting("find-links").split()),
        proxy=setting("proxy"),
        cert=setting("cert"),
        timeout=float(setting("timeout") or setting("default-timeout") or 60),
    )


def _python(*arguments: str) -> str:
    try:
        done = subprocess.run(
            [sys.executable, *arguments], capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL
        )
    except subprocess.CalledProcessError as error:
        reason = (error.stderr.strip().splitlines() or ["no message"])[-1]
        raise AssetError(
            f"pip's settings could not be read ({reason}). Set PIP_INDEX_URL to your package index."
        ) from error
    return done.stdout


def _places(settings: Settings, source: Source) -> Iterator[str]:
    project = re.sub(r"[-_.]+", "-", source.project).lower()
    yield from settings.find_links
    for index in settings.indexes:
        yield index.rstrip("/") + f"/{project}/"


def _link(connection: Connection, place: str, source: Source) -> str | None:
    """The address of the file as one index page or folder gives it."""
    local = url2pathname(urlsplit(place).path) if place.startswith("file:") else place
    if "://" not in local:
        folder = Path(local).expanduser()
        if (folder / source.filename).is_file():
            return (folder / source.filename).absolute().as_uri()
        page = folder / "index.html"
        if not page.is_file():
            return None
        place = page.absolute().as_uri()
    with connection.open(place, accept=_ACCEPT) as response:
        base, kind = response.geturl(), response.headers.get_content_type()  # type: ignore[attr-defined]
        body = response.read()
    for address in _json_links(body) if kind.endswith("json") else _html_links(body):
        link = urljoin(base, address)
        if unquote(urlsplit(link).path).rpartition("/")[2] == source.filename:
            return urlunsplit(urlsplit(link)._replace(fragment=""))
    return None


def _json_links(body: bytes) -> list[str]:
    return [file["url"] for file in json.loads(body)["files"]]


def _html_links(body: bytes) -> list[str]:
    links: list[str] = []

    class Anchors(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            links.extend(value for name, value in attrs if tag == "a" and name == "href" and value)

    Anchors().feed(body.decode("utf-8", errors="replace"))
    return links
