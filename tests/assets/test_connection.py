"""A password goes to the registry that it is for, and to nobody that the registry points to."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from unfooled.assets.connection import Connection, same_server

PASSWORD = "Basic bWU6c2VjcmV0"  # me:secret


@contextmanager
def server(redirects: dict[str, str]) -> Iterator[tuple[int, list[tuple[str, str | None]]]]:
    """A server that redirects these paths: its port, and every path and password that it was sent."""
    seen: list[tuple[str, str | None]] = []

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append((self.path, self.headers["Authorization"]))
            self.send_response(302 if self.path in redirects else 200)
            if self.path in redirects:
                self.send_header("Location", redirects[self.path])
            self.end_headers()
            self.wfile.write(b"content")

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        yield listening.server_address[1], seen
        listening.shutdown()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_password_does_not_follow_a_redirect_to_another_server(host: str) -> None:
    """Another port is another server, on the same host too."""
    with (
        server({}) as (other, met),
        server({"/file": f"http://{host}:{other}/file"}) as (registry, seen),
        Connection().open(f"http://me:secret@127.0.0.1:{registry}/file") as answer,
    ):
        assert answer.read() == b"content"
    assert seen == [("/file", PASSWORD)] and met == [("/file", None)]


def test_password_follows_redirects_within_the_registry() -> None:
    with (
        server({"/file": "/moved", "/moved": "/again"}) as (registry, seen),
        Connection().open(f"http://me:secret@127.0.0.1:{registry}/file") as answer,
    ):
        assert answer.read() == b"content"
    assert seen == [("/file", PASSWORD), ("/moved", PASSWORD), ("/again", PASSWORD)]


@pytest.mark.parametrize(
    ("address", "other", "same"),
    [
        ("http://a.org/x", "https://a.org/x", True),
        ("https://a.org/x", "https://A.org:443/y", True),
        ("https://a.org/x", "http://a.org/x", False),
        ("http://a.org:8080/x", "https://a.org/x", False),
        ("https://a.org/x", "https://a.org.evil.org/x", False),
        ("https://a.org/x", "https://a.org@evil.org/x", False),
    ],
)
def test_same_server_is_the_host_and_port_or_its_https(address: str, other: str, same: bool) -> None:
    assert same_server(address, other) is same
