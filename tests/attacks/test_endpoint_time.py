"""Endpoints that drip, requests side by side, and the example server of the documentation."""

from __future__ import annotations

import importlib.util
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import unfooled as uf
from unfooled.attacks import Asked
from unfooled.attacks.victims import VictimUnavailable, open_victim
from unfooled.attacks.victims.http import HttpVictim
from unfooled.attacks.victims.wire import Pace
from unfooled.errors import UserError

EXAMPLE = Path(__file__).parents[2] / "examples" / "endpoint.py"


def asked(*texts: str) -> list[Asked]:
    return [Asked((text,)) for text in texts]


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture(params=["headers", "body"])
def dripping(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a server that sends a byte every 0.05 seconds for ever, of headers or of a body."""
    listening = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()
    begin = b"HTTP/1.1 200 OK\r\nX: " if request.param == "headers" else b"HTTP/1.1 200 OK\r\n\r\n"

    def drip(connection: socket.socket) -> None:
        try:
            connection.recv(65536)
            connection.sendall(begin)
            while not over.wait(0.05):
                connection.sendall(b"x")
        except OSError:
            pass  # the client has hung up

    def accept() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=drip, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
    over.set()
    listening.close()


def test_bytes_that_drip_do_not_put_the_deadline_off(dripping: str) -> None:
    started = time.monotonic()
    with pytest.raises(VictimUnavailable, match=r"no answer within 0\.3 s"):
        open_victim(dripping, timeout=0.3, retries=0, labels=["a", "b"]).answers(asked("x"))
    assert time.monotonic() - started < 1.5  # the text, and another one to see whether it is to blame


def test_retries_end_with_the_time_cap_of_an_attack(dripping: str) -> None:
    victim = open_victim(dripping, timeout=0.2, retries=50, backoff=0, labels=["a", "b"])
    started = time.monotonic()
    with pytest.raises(VictimUnavailable, match="does not answer"):
        uf.attack(
            victim,
            uf.Inputs(texts=["a film"], labels=["a"]),
            recipe="deepwordbug",
            limits=uf.Limits(time_cap=0.5),
            tools=uf.Tools(validity=False),
        )
    assert time.monotonic() - started < 4


@pytest.fixture
def serving() -> Iterator[Callable[[float], tuple[str, list[Any]]]]:
    """Starts a server that takes so many seconds per request; gives its address and what it saw."""
    servers: list[ThreadingHTTPServer] = []

    def start(seconds: float) -> tuple[str, list[Any]]:
        seen: list[Any] = []
        flying, lock = [0, 0], threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["texts"]
                with lock:
                    flying[0] += 1
                    flying[1] = max(flying)
                    seen.append((time.monotonic(), flying[1]))
                time.sleep(
                    seconds * (1 + (len(texts[0]) % 3))
                )  # later requests may be over before earlier ones
                with lock:
                    flying[0] -= 1
                shares = [len(text) / (len(text) + 10) for text in texts]
                body = json.dumps({"scores": [[1 - one, one] for one in shares]}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/", seen

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_requests_side_by_side_give_the_same_answers_in_the_same_order(serving: Any) -> None:
    address, seen = serving(0.02)
    texts = asked(*("x" * (number + 1) for number in range(24)))
    found = {}
    for concurrency in (1, 6):
        seen.clear()
        victim = open_victim(address, labels=["a", "b"], batch_size=2, concurrency=concurrency)
        started = time.monotonic()
        found[concurrency] = victim.answers(texts), time.monotonic() - started
        assert len(seen) == 12
    assert found[1][0] == found[6][0]
    assert [round(one.scores[1], 6) for one in found[6][0]] == [round(n / (n + 10), 6) for n in range(1, 25)]
    assert seen[-1][1] > 1  # several at a time
    assert found[6][1] < found[1][1]


def test_the_rate_holds_for_requests_side_by_side() -> None:
    """Eight threads come at the same moment: each waits for a turn of its own."""
    slept: list[float] = []
    pace = Pace(50, clock=lambda: 100.0, sleep=slept.append)
    threads = [threading.Thread(target=pace.wait) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(slept) == pytest.approx([turn / 50 for turn in range(1, 8)])


def test_one_failure_ends_the_requests_beside_it_soon(serving: Any) -> None:
    address, _ = serving(0.3)
    victim = HttpVictim(address, labels=["a", "b", "c"], batch_size=1, concurrency=4)
    started = time.monotonic()
    with pytest.raises(UserError, match="2 scores per text, but has 3 labels"):
        victim.answers(asked(*("x" * 3 for _ in range(40))))
    assert time.monotonic() - started < 3


def test_the_example_server_of_the_docs_is_attacked_and_certified() -> None:
    made = importlib.util.spec_from_file_location("example_endpoint", EXAMPLE)
    assert made is not None and made.loader is not None
    example = importlib.util.module_from_spec(made)
    made.loader.exec_module(example)
    server = example.serve(0)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        victim = open_victim(f"http://127.0.0.1:{server.server_port}/classify", labels=example.LABELS)
        ham, spam, empty = victim.answers(asked("see you at noon", "claim your prize now", ""))
        assert (ham.label, spam.label, empty.label) == (0, 1, 0)
        few = uf.Sampling(n0=20, n=200)
        (found,) = uf.certify(
            victim, ["see you at noon"], threat="edits", sampling=few, reading=uf.Reading(antonyms=False)
        )
        assert found.label == "ham" and found.radius >= 1
    finally:
        server.shutdown()
        server.server_close()
