"""Posting to an HTTP address politely: pace, deadlines, retries with growing pauses, no redirects.

On httpx, in an event loop of its own: a request is over at its deadline, however slowly bytes come in, and
several may be on their way at once. Redirects are refused rather than followed, so that credentials go to no
other host; cookies are not kept; the address, whose query may hold a key, is kept out of httpx's log.
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx

from unfooled.attacks.victims.scores import VictimUnavailable
from unfooled.errors import UsageError

MAX_BYTES = 64 << 20
BEGINNING = 2000
"""Bytes that are read of a refusal."""
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
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self.gap = 1 / rate if rate else 0.0
        self.clock = clock
        self.sleep = sleep
        self._next = float("-inf")
        self._lock = threading.Lock()

    def wait(self) -> None:
        """Until it is the caller's turn."""
        with self._lock:
            now = self.clock()
            turn = max(now, self._next)
            self._next = turn + self.gap
        if turn > now:
            self.sleep(turn - now)


@dataclass(frozen=True)
class Reply:
    """An answer that came before the deadline; of a refusal the beginning."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


class TooSlow(Exception):
    """The deadline of a request passed; ``reached``: the request was on its way."""

    def __init__(self, reached: bool) -> None:
        super().__init__()
        self.reached = reached


class Poster:
    """Posts JSON to one address, from any number of threads. Nothing it shows holds a header's value.

    ``timeout`` is the time of one request in all, from connecting to the last byte.
    """

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
            # The certificates that this machine trusts, a company's own among them; no cookie is kept.
            self._client = httpx.AsyncClient(
                verify=ssl.create_default_context(),
                timeout=None,
                limits=httpx.Limits(max_connections=None),
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            )
        except (ImportError, ValueError):  # its text may show the password of a proxy
            raise UsageError(
                "The proxy that the environment names (ALL_PROXY, HTTPS_PROXY, HTTP_PROXY) cannot be used: "
                "name an http:// or https:// proxy, or unset the variable."
            ) from None
        log, hidden = logging.getLogger("httpx"), _Without(target)
        log.addFilter(hidden)
        weakref.finalize(self, log.removeFilter, hidden)
        self._flying: set[Future[Reply]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()
        self.shown = shown
        self.pace = pace
        self.timeout = timeout
        self.retries = retries
        self.backoff = backoff
        self.max_wait = max_wait

    def __repr__(self) -> str:
        return f"Poster({self.shown!r})"

    def post(self, body: bytes, *, within: float | None = None) -> str:
        """The content of the answer, after as many tries as allowed; no retry begins after ``within`` s."""
        asked: float | None = None
        reason, reached, tries = "", False, 0
        started = self.pace.clock()
        for attempt in range(self.retries + 1):
            if attempt:
                growing = min(self.backoff * 2 ** (attempt - 1), LONGEST_PAUSE)
                pause, asked = growing if asked is None else asked, None
                if within is not None and self.pace.clock() + pause - started >= within:
                    break
                self.pace.sleep(pause)
            self.pace.wait()
            left = None if within is None else within - (self.pace.clock() - started)
            timeout = self.timeout if left is None or attempt == 0 else max(0.001, min(self.timeout, left))
            tries += 1
            try:
                answer = self._sent(body, timeout)
            except TooSlow as slow:
                reached, reason = slow.reached, f"no answer within {timeout:g} s"
            except httpx.RequestError as error:
                # Only a connection that was made can have been lost over the texts.
                reached, reason = not isinstance(error, NOT_CONNECTED), _cause(error)
            else:
                if answer.is_success:
                    return self._content(answer)
                if answer.status not in BUSY:
                    raise self._refused(answer)
                reason, reached = f"HTTP {answer.status}", answer.status >= 500
                asked = _retry_after(answer.headers.get("Retry-After"))
            if asked is not None and asked > self.max_wait:
                raise VictimUnavailable(
                    f"{self.shown} answered {reason} and asks to wait {asked:.0f} s. Run again later, lower "
                    "the rate, or raise max_wait."
                )
        times = f"{tries} tries" if tries > 1 else "one try"
        failure = NotServed(
            f"{self.shown} does not answer after {times} ({reason}).",
            "See that the service runs and can be reached from here, raise timeout or retries, or lower the "
            "rate; then run again.",
        )
        raise failure if reached else VictimUnavailable(str(failure))

    def abandon(self) -> None:
        """Give up all requests that are on their way."""
        for request in list(self._flying):
            request.cancel()

    def _sent(self, body: bytes, timeout: float) -> Reply:
        """The answer to one request, or :class:`TooSlow`: bytes that drip in do not put the deadline off."""
        request = asyncio.run_coroutine_threadsafe(self._exchange(body, timeout), self._running_loop())
        self._flying.add(request)
        try:
            return request.result()
        except BaseException:
            request.cancel()
            raise
        finally:
            self._flying.discard(request)

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="unfooled-http", daemon=True).start()
                weakref.finalize(self, self._loop.call_soon_threadsafe, self._loop.stop)
            return self._loop

    async def _exchange(self, body: bytes, timeout: float) -> Reply:
        reached = False

        async def trace(event: str, info: Mapping[str, object]) -> None:
            nonlocal reached
            reached = reached or "send_request" in event

        try:
            return await asyncio.wait_for(self._streamed(body, trace), timeout)
        except TimeoutError as error:
            raise TooSlow(reached) from error

    async def _streamed(self, body: bytes, trace: Callable[..., object]) -> Reply:
        async with self._client.stream(
            "POST", self._target, content=body, headers=self._headers, extensions={"trace": trace}
        ) as answer:
            most = MAX_BYTES if answer.is_success else BEGINNING
            data = bytearray()
            async for piece in answer.aiter_bytes():
                data += piece
                if len(data) > most:
                    break
            return Reply(answer.status_code, answer.headers, bytes(data))

    def _content(self, answer: Reply) -> str:
        if len(answer.content) > MAX_BYTES:
            raise VictimUnavailable(
                f"{self.shown} answered with more than {MAX_BYTES >> 20} MB. Lower batch_size."
            )
        return answer.content.decode("utf-8", "replace")

    def _refused(self, answer: Reply) -> VictimUnavailable:
        """What a refusal means, with the beginning of the answer."""
        code = answer.status
        content = answer.content.decode("utf-8", "replace")[:200]
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
    while (cause := error.__cause__ or error.__context__) is not None:
        several: Sequence[BaseException] = getattr(cause, "exceptions", ())  # one per address of the host
        error = several[0] if several else cause
    if isinstance(error, OSError) and error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
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
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())
