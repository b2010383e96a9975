"""Posting to an HTTP address politely: pace, timeouts, retries with growing pauses, no redirects.

On httpx. Redirects are refused rather than followed, so that credentials go to no other host; cookies are not
kept; the address, whose query may hold a key, is kept out of httpx's log.
"""

from __future__ import annotations

import logging
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

import httpx

from unfooled.attacks.victims.scores import VictimUnavailable
from unfooled.errors import UsageError

MAX_BYTES = 64 << 20
BUSY = {408, 425, 429, *range(500, 600)}
"""Worth another try."""
ABOUT_THE_TEXTS = {400, 413, 422}
"""The address answers, and refused what was sent."""
LONGEST_PAUSE = 30.0
NOT_CONNECTED = (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError, httpx.UnsupportedProtocol)


class NotServed(VictimUnavailable):
    """One request got no usable answer from an endpoint that can be reached: perhaps for its texts."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(f"{reason} {remedy}".rstrip())
        self.reason = reason


class Pace:
    """At most ``rate`` requests per second, evenly spaced; no limit at 0."""

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
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "unfooled",
            **headers,
        }
        for name, value in self._headers.items():
            if not isinstance(value, str) or not (name + value).isascii() or not value.isprintable():
                raise UsageError(f"The value of the header {name!r} must be one line of ASCII text.")
        self._told = [part for value in headers.values() for part in (value, value.partition(" ")[2])]
        try:
            # The certificates that this machine trusts, a company's own among them.
            self._client = httpx.Client(verify=ssl.create_default_context(), timeout=timeout)
        except (ImportError, ValueError):  # its text may show the password of a proxy
            raise UsageError(
                "The proxy that the environment names (ALL_PROXY, HTTPS_PROXY, HTTP_PROXY) cannot be used: "
                "name an http:// or https:// proxy, or unset the variable."
            ) from None
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
            try:
                with self._sent(body) as answer:
                    if answer.is_success:
                        return self._content(answer)
                    if answer.status_code not in BUSY:
                        raise self._refused(answer)
                    reason, reached = f"HTTP {answer.status_code}", answer.status_code >= 500
                    asked = _retry_after(answer.headers.get("Retry-After"))
            except httpx.RequestError as error:
                # Only a connection that was made can have been lost, or have timed out, over the texts.
                reached = not isinstance(error, NOT_CONNECTED)
                timed_out = isinstance(error, httpx.TimeoutException)
                reason = f"no answer within {self.timeout:g} s" if timed_out else _cause(error)
            if asked is not None and asked > self.max_wait:
                raise VictimUnavailable(
                    f"{self.shown} answered {reason} and asks to wait {asked:.0f} s. Run again later, lower "
                    "the rate, or raise max_wait."
                )
        times = f"{self.retries + 1} tries" if self.retries else "one try"
        failure = NotServed(
            f"{self.shown} does not answer after {times} ({reason}).",
            "See that the service runs and can be reached from here, raise timeout or retries, or lower the "
            "rate; then run again.",
        )
        raise failure if reached else VictimUnavailable(str(failure))

    @contextmanager
    def _sent(self, body: bytes) -> Iterator[httpx.Response]:
        log, hidden = logging.getLogger("httpx"), _Without(self._target)
        log.addFilter(hidden)
        try:
            with self._client.stream("POST", self._target, content=body, headers=self._headers) as answer:
                yield answer
        finally:
            log.removeFilter(hidden)
            self._client.cookies.clear()

    def _content(self, answer: httpx.Response) -> str:
        data = bytearray()
        for piece in answer.iter_bytes():
            data += piece
            if len(data) > MAX_BYTES:
                raise VictimUnavailable(
                    f"{self.shown} answered with more than {MAX_BYTES >> 20} MB. Lower batch_size."
                )
        return data.decode("utf-8", "replace")

    def _refused(self, answer: httpx.Response) -> VictimUnavailable:
        """What a refusal means, with the beginning of the answer."""
        code = answer.status_code
        content = next(answer.iter_bytes(2000), b"").decode("utf-8", "replace")[:200]
        for secret in self._told:
            content = content.replace(secret, "…") if len(secret) > 7 else content
        if 300 <= code < 400:
            return VictimUnavailable(
                f"{self.shown} redirects elsewhere (HTTP {code}), which is not followed. Give the "
                "final address."
            )
        if code in (401, 403):
            return VictimUnavailable(
                f"{self.shown} refused access (HTTP {code}). Check the token: name its environment "
                "variable with token_env."
            )
        if code in ABOUT_THE_TEXTS:
            return NotServed(
                f"{self.shown} refused the request (HTTP {code}): {content}",
                "Check request_field and the other settings.",
            )
        return VictimUnavailable(f"{self.shown} answered HTTP {code} ({content!r}). Check the address.")


class _Without(logging.Filter):
    """Drops what is logged about an address."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self._address = address

    def filter(self, record: logging.LogRecord) -> bool:
        return self._address not in record.getMessage()


def _cause(error: BaseException) -> str:
    """What the operating system said, without httpx's wrapping; addresses are not in it."""
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error) or type(error).__name__


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
