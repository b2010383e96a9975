"""A classifier behind HTTP, in the format that unfooled asks: standard library only.

    python examples/endpoint.py --port 8000
    unfooled attack http://127.0.0.1:8000/classify --labels ham,spam --task spam --limit 20

Replace ``probabilities`` by your own model. The format is described in docs/endpoints.md.
"""

from __future__ import annotations

import argparse
import json
import math
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LABELS = ["ham", "spam"]
SPAM = {
    "call": 1.2,
    "claim": 2.5,
    "free": 1.5,
    "now": 0.7,
    "prize": 3.0,
    "txt": 2.0,
    "urgent": 2.5,
    "win": 2.0,
}
LIMIT = 1 << 20


def probabilities(text: str) -> list[float]:
    """One probability per label, in their order. Every text has an answer, the empty one too."""
    score = -2 + sum(SPAM.get(word.strip(".,:;!?").lower(), 0.0) for word in text.split())
    spam = 1 / (1 + math.exp(-score))
    return [1 - spam, spam]


class Handler(BaseHTTPRequestHandler):
    """POST /classify with {"texts": [...]} gives {"labels": [...], "scores": [[...], ...]}."""

    protocol_version = "HTTP/1.1"  # connections stay open between requests

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        if self.path != "/classify" or length > LIMIT:
            return self._reply(
                404 if self.path != "/classify" else 413, {"error": "POST /classify, up to 1 MB"}
            )
        try:
            texts = json.loads(self.rfile.read(length))["texts"]
            scores = [probabilities(text) for text in texts]
        except (ValueError, KeyError, TypeError, AttributeError):
            return self._reply(422, {"error": 'send {"texts": ["…", …]}'})
        return self._reply(200, {"labels": LABELS, "scores": scores})

    def _reply(self, status: int, answer: dict[str, Any]) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Thousands of requests are no news."""


def serve(port: int) -> ThreadingHTTPServer:
    """The server, listening on this machine only; ``serve_forever()`` starts it."""
    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A classifier behind HTTP, for unfooled.")
    parser.add_argument("--port", type=int, default=8000)
    server = serve(parser.parse_args().port)
    print(f"http://127.0.0.1:{server.server_port}/classify", flush=True)
    server.serve_forever()
