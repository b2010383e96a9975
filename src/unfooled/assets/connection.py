"""Opening addresses of a package index or registry and saving a file of known size, and nothing else.

Proxies, certificates, time-outs and passwords in addresses or ``.netrc`` work as they do for pip.
"""

from __future__ import annotations

import base64
import os
import ssl
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote, urlsplit, urlunsplit
from urllib.request import (
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    build_opener,
)

from unfooled.assets.digest import CHUNK
from unfooled.assets.download_bar import Update
from unfooled.assets.manifest import Source
from unfooled.errors import AssetError


class LocalDiskError(OSError):
    """The cache's disk failed, not the index: trying another place will not help."""


class _Redirects(HTTPRedirectHandler):
    """Follows redirects; the password goes along to the same server only."""

    def redirect_request(self, req: Request, *answer: Any) -> Request | None:
        following = super().redirect_request(req, *answer)
        password = req.get_header("Authorization")
        if following and password and same_server(req.full_url, following.full_url):
            following.add_unredirected_header("Authorization", password)
        return following


@dataclass(frozen=True)
class Connection:
    """How to reach the addresses of one index or registry."""

    proxy: str = ""
    cert: str = ""
    timeout: float = 60.0

    @cached_property
    def _opener(self) -> OpenerDirector:
        context = ssl.create_default_context(cafile=self.cert or os.environ.get("REQUESTS_CA_BUNDLE") or None)
        proxies = {"http": self.proxy, "https": self.proxy} if self.proxy else None
        return build_opener(ProxyHandler(proxies), HTTPSHandler(context=context), _Redirects)

    def open(self, address: str, *, accept: str = "*/*") -> IO[bytes]:
        """The answer of an address, to be read in pieces."""
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https", "file"):
            raise ValueError(f"addresses of the kind {parts.scheme!r} are not followed")
        request = Request(without_password(address), headers={"Accept": accept, "User-Agent": "unfooled"})
        if credentials := _credentials(address):
            basic = "Basic " + base64.b64encode(credentials.encode()).decode()
            request.add_unredirected_header("Authorization", basic)  # see _Redirects
        return self._opener.open(request, timeout=self.timeout)

    def save(self, address: str, target: Path, source: Source, update: Update) -> Path:
        """Write the source's file to ``target``; stop as soon as it is larger than the manifest says."""
        done = 0
        with self.open(address) as response, target.open("wb") as out:
            while chunk := response.read(CHUNK):
                done += len(chunk)
                if done > source.size:
                    raise AssetError(
                        f"{source.filename} is larger than the manifest's {source.size} bytes; refused."
                    )
                try:
                    out.write(chunk)
                except OSError as error:
                    raise LocalDiskError(*error.args) from error
                update(done)
        return target


def without_password(address: str) -> str:
    """The address as messages may show it."""
    parts = urlsplit(address)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


_PORTS = {"http": 80, "https": 443}


def same_server(address: str, other: str) -> bool:
    """The same host and port, or the usual port of HTTPS instead of that of HTTP; as pip compares them."""
    (scheme, host, port), (later, other_host, other_port) = (
        (parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme))
        for parts in map(urlsplit, (address, other))
    )
    upgraded = (scheme, port, later, other_port) == ("http", 80, "https", 443)
    return host == other_host and (upgraded or (scheme, port) == (later, other_port))


def _credentials(address: str) -> str:
    parts = urlsplit(address)
    if parts.username:
        return f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    import netrc

    try:
        known = netrc.netrc().authenticators(parts.hostname or "")
    except (OSError, netrc.NetrcParseError):
        return ""
    return f"{known[0]}:{known[2]}" if known else ""
