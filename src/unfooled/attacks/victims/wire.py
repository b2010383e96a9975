"""Posting to an HTTP address politely: pace, timeouts, retries with growing pauses, no redirects.

Standard library only. Redirects are refused rather than followed, so that credentials go to no other host.
"""

from __future__ import annotations

import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any

from unfooled.attacks.victims.scores import VictimUnavailable
from unfooled.errors import UsageError

MAX_BYTES = 64 << 20
BUSY = {408, 425, 429, *range(500, 600)}
"""Worth another try."""
ABOUT_THE_TEXTS = {400, 413, 422}
"""The address answers, and refused what was sent."""
LONGEST_PAUSE = 30.0


class NotServed(VictimUnavailable):
    """One request got no usable answer from an endpoint that can be reached: perhaps for its texts."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(f"{reason} {remedy}".rstrip())
        self.reason = reason


class Pace:
    """At most ``rate`` requests a second, evenly spaced; no limit at 0."""

    def __init__(
        self,
        rate: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.gap = 1 / rate if rate else 0.0
        self.clock = clock
        self.sleep = sleep
        self._next = float("-inf")

    def wait(self) -> None:
        now = self.clock()
        if now < self._next:
            self.sleep(self._next - now)
        self._next = max(now, self._next) + self.gap


class Poster:
    """Posts JSON to one address. Nothing it says or shows holds a header's value."""

    def __init__(
        self,
        target: str,
        *,
        shown: str,
        headers: Mapping[str, str],
        pace: Pace,
        timeout: float,
        retries: int,
        backoff: float,
        max_wait: float,
    ) -> None:
        self._target = target
        self._headers = {"Content-Type": "application/json", "Accept": "application/json", **headers}
        for name, value in self._headers.items():
            if not isinstance(value, str) or not (name + value).isascii() or not value.isprintable():
                raise UsageError(f"The value of the header {name!r} must be one line of ASCII text.")
        self._opener = urllib.request.build_opener(_NoRedirect)
        self.shown = shown
        self.pace = pace
        self.timeout = timeout
        self.retries = retries
        self.backoff = backoff
        self.max_wait = max_wait

    def __repr__(self) -> str:
        return f"Poster({self.shown!r})"

    def post(self, body: bytes) -> str:
        """The content of the answer, after as many tries as allowed."""
        asked: float | None = None
        reason, reached = "", False
        for attempt in range(self.retries + 1):
            if attempt:
                growing = min(self.backoff * 2 ** (attempt - 1), LONGEST_PAUSE)
                self.pace.sleep(growing if asked is None else asked)
                asked = None
            self.pace.wait()
            request = urllib.request.Request(self._target, data=body, headers=self._headers, method="POST")
            try:
                with self._opener.open(request, timeout=self.timeout) as answer:
                    return self._content(answer)
            except urllib.error.HTTPError as error:
                if error.code not in BUSY:
                    raise self._refused(error) from None
                error.close()
                reason, reached = f"HTTP {error.code}", error.code >= 500
                asked = _retry_after(error.headers.get("Retry-After"))
                if asked is not None and asked > self.max_wait:
                    raise VictimUnavailable(
                        f"{self.shown} answered HTTP {error.code} and asks to wait {asked:.0f} s. Run again "
                        "later, lower the rate, or raise max_wait."
                    ) from None
            except (OSError, http.client.HTTPException) as error:
                cause = getattr(error, "reason", error)
                # Only a connection that was made can have been lost, or have timed out, over the texts.
                reached = cause is error or isinstance(cause, ConnectionResetError | BrokenPipeError)
                timed_out = isinstance(cause, TimeoutError)
                reason = (
                    f"no answer within {self.timeout:g} s"
                    if timed_out
                    else str(cause) or type(cause).__name__
                )
        times = f"{self.retries + 1} tries" if self.retries else "one try"
        failure = NotServed(
            f"{self.shown} does not answer after {times} ({reason}).",
            "See that the service runs and can be reached from here, raise timeout or retries, or lower the "
            "rate; then run again.",
        )
        raise failure if reached else VictimUnavailable(str(failure))

    def _content(self, answer: Any) -> str:
        data = answer.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise VictimUnavailable(
                f"{self.shown} answered with more than {MAX_BYTES >> 20} MB. Lower batch_size."
            )
        return str(data.decode("utf-8", "replace"))

    def _refused(self, error: urllib.error.HTTPError) -> VictimUnavailable:
        """What a refusal means, with the beginning of the answer."""
        with error:
            content = error.read(2000).decode("utf-8", "replace")[:200]
        for value in self._headers.values():
            for secret in {value, value.partition(" ")[2]} - {""}:
                content = content.replace(secret, "…") if len(secret) > 7 else content
        if 300 <= error.code < 400:
            return VictimUnavailable(
                f"{self.shown} redirects elsewhere (HTTP {error.code}), which is not followed. Give the "
                "final address."
            )
        if error.code in (401, 403):
            return VictimUnavailable(
                f"{self.shown} refused access (HTTP {error.code}). Check the token: name its environment "
                "variable with token_env."
            )
        if error.code in ABOUT_THE_TEXTS:
            return NotServed(
                f"{self.shown} refused the request (HTTP {error.code}): {content}",
                "Check request_field and the other settings.",
            )
        return VictimUnavailable(f"{self.shown} answered HTTP {error.code} ({content!r}). Check the address.")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _retry_after(value: str | None) -> float | None:
    """Seconds that Retry-After asks for: a number, or a date."""
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        when = parsedate_to_datetime(value)
    except ValueError:
        return None
    when = when if when.tzinfo else when.replace(tzinfo=timezone.utc)
    return max(0.0, (when - datetime.now(timezone.utc)).total_seconds())
