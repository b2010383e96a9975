"""An HTTP endpoint as a victim: JSON out, JSON in.

>>> victim = HttpVictim("https://example.org/classify", labels=["ham", "spam"], token_env="MY_TOKEN", rate=5)

Sends ``{"texts": [...]}`` and reads ``scores``: one list of probabilities per text, or ``{label: score}``, or
the ``[{"label": …, "score": …}]`` of the Hugging Face inference API. Busy answers (429, 5xx) and lost
connections are tried again with growing pauses. If texts are still not served, but others are, the one to
blame is found and only it is refused. Credentials are sent, and never shown or stored.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Literal
from urllib.parse import unquote, urlsplit, urlunsplit

from unfooled.attacks.victim import Answer, Asked, Query
from unfooled.attacks.victims.scores import (
    HARMLESS,
    BadAnswer,
    ScoreCheck,
    VictimUnavailable,
    answers_of,
    in_order,
    one_each,
)
from unfooled.attacks.victims.wire import NotServed, Pace, Poster
from unfooled.errors import UsageError, UserError
from unfooled.settings import build, setting


@dataclass(frozen=True)
class HttpSettings:
    """How to talk to the endpoint."""

    request_field: str = setting("texts", "Where the texts stand in the request; 'inputs' for Hugging Face")
    response_field: str = setting("scores", "Where the scores stand in the answer, e.g. 'result.scores'")
    extra: dict[str, object] = setting(None, "Further fields of the request, the same every time")
    pairs: Literal["list", "object"] = setting(
        "list", "Pairs as [text, pair], or as {'text': …, 'text_pair': …}"
    )
    batch_size: int = setting(32, "Texts per request", at_least=1)
    concurrency: int = setting(
        4, "Requests that are on their way at a time, at most", at_least=1, at_most=256
    )
    timeout: float = setting(30.0, "Seconds for one request in all, to the last byte", at_least=0.001)
    retries: int = setting(5, "How often a failed request is sent again", at_least=0)
    backoff: float = setting(0.5, "Seconds before the first retry; doubled each time", at_least=0)
    max_wait: float = setting(120.0, "Longest pause in seconds that Retry-After may ask for", at_least=0)
    rate: float = setting(0.0, "Requests per second, at most; 0 for no limit", at_least=0)
    logits: bool = setting(False, "The scores are logits, not probabilities")
    randomised: bool = setting(False, "The same text may get another answer the next time")


class HttpVictim:
    """Answers of an endpoint, checked. ``labels``: class names in the order of your data's classes."""

    def __init__(
        self,
        address: str,
        *,
        labels: Sequence[str] | None = None,
        headers: Mapping[str, str] | None = None,
        token_env: str | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] | None = None,
        **settings: object,
    ) -> None:
        if settings.get("extra") is None:
            settings["extra"] = {}
        self.settings: HttpSettings = build(HttpSettings, settings, owner="HTTP victim")
        self.labels = self._given = tuple(labels or ())
        self.randomised = self.settings.randomised
        target, self.address, self._query, login = _parts(address)
        secrets = _secret_headers(login, token_env)
        self._header_names = sorted({name.lower() for name in [*(headers or {}), *secrets]})
        self._check = ScoreCheck()
        self._stopped = threading.Event()
        """Ends pauses when the caller has given up."""
        self.patience: float | None = None
        """Seconds after which a request that failed is not tried again; an attack sets it to its time cap."""
        self._good: Query | None = None
        """The last query that was answered well."""
        self._poster = Poster(
            target,
            shown=self.address,
            headers={**(headers or {}), **secrets},
            pace=Pace(self.settings.rate, clock=clock, sleep=sleep or self._stopped.wait),
            timeout=self.settings.timeout,
            retries=self.settings.retries,
            backoff=self.settings.backoff,
            max_wait=self.settings.max_wait,
        )

    def __repr__(self) -> str:
        return f"HttpVictim({self.address!r}, labels={self.labels!r})"

    def answers(self, asked: Sequence[Asked]) -> list[Answer]:
        size = self.settings.batch_size
        batches = [[one.query for one in asked[at : at + size]] for at in range(0, len(asked), size)]
        # The first answer shows how many classes there are, so nothing is asked beside it.
        served = [] if self.labels else [self._served(batch) for batch in batches[:1]]
        served += self._side_by_side(batches[len(served) :])
        return [answer for answers in served for answer in answers]

    def _side_by_side(self, batches: Sequence[Sequence[Query]]) -> list[list[Answer]]:
        """The answers to each batch, in order, some requests at a time."""
        at_once = min(self.settings.concurrency, len(batches))
        if at_once < 2:
            return [self._served(batch) for batch in batches]
        self._stopped.clear()
        pool = ThreadPoolExecutor(at_once, thread_name_prefix="unfooled-endpoint")
        try:
            return list(pool.map(self._served, batches))
        except BaseException:
            self._stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            self._poster.abandon()
            raise
        finally:
            pool.shutdown(wait=False)

    def describe(self) -> dict[str, object]:
        """What it is, for the record of a run; what may hold a key is there as a digest only."""
        asked = ("request_field", "response_field", "pairs", "logits", "randomised")
        settings = asdict(self.settings)
        rest = json.dumps([self._query, self.settings.extra], sort_keys=True)
        return {
            "kind": "http",
            "spec": self.address,
            "query_and_extra": hashlib.sha256(rest.encode()).hexdigest()[:16],
            "header_names": self._header_names,
            "labels": list(self._given),
            **{name: settings[name] for name in asked},
        }

    def _served(self, queries: Sequence[Query]) -> list[Answer]:
        """Answers to a batch; if it is not served although others are, to each text alone."""
        try:
            return self._batch(queries)
        except NotServed as failure:
            self._check_alive(queries[0], failure)
            if len(queries) == 1:
                raise BadAnswer(failure.reason) from failure
        return [answer for query in queries for answer in self._served([query])]

    def _check_alive(self, query: Query, failure: NotServed) -> None:
        """Whether the endpoint serves another text; if not, its failure is about no text."""
        try:
            self._batch([self._good or (HARMLESS,) * len(query)])
        except (UserError, BadAnswer) as error:
            raise failure from error

    def _batch(self, queries: Sequence[Query]) -> list[Answer]:
        body = {**self.settings.extra, self.settings.request_field: [self._sent(query) for query in queries]}
        content = self._poster.post(json.dumps(body).encode(), within=self.patience)
        found = None
        try:
            found = self._found(content, len(queries))
            table = self._check.table(
                found,
                queries,
                victim=self.address,
                classes=len(self.labels) or None,
                logits=self.settings.logits,
            )
        except UserError as error:
            if found is not None and not one_each(found, queries):
                raise
            raise NotServed(str(error)) from error
        self._good = queries[0]
        self.labels = self.labels or tuple(str(number) for number in range(table.shape[1]))
        return answers_of(table)

    def _sent(self, query: Query) -> object:
        if len(query) == 1:
            return query[0]
        return {"text": query[0], "text_pair": query[1]} if self.settings.pairs == "object" else list(query)

    def _found(self, content: str, count: int) -> object:
        """The scores in an answer, named classes put in order."""
        try:
            found = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise VictimUnavailable(
                f"{self.address} did not answer with JSON but with {content[:80]!r}. Check the address."
            ) from error
        if not isinstance(found, list):  # a bare list is the scores themselves
            for name in filter(None, self.settings.response_field.split(".")):
                if not isinstance(found, dict) or name not in found:
                    has = ", ".join(map(repr, found)) if isinstance(found, dict) else type(found).__name__
                    raise UserError(
                        f"{self.address} answered without {self.settings.response_field!r}; it has: {has}. "
                        "Say where the scores are with response_field."
                    )
                found = found[name]
        if count == 1 and _is_entries(found):
            found = [found]
        if isinstance(found, list) and found and all(_is_entries(row) for row in found):
            found = [{str(entry["label"]): entry["score"] for entry in row} for row in found]
        if isinstance(found, list) and found and all(isinstance(row, dict) for row in found):
            return in_order(found, self.labels, victim=self.address)
        return found


def _is_entries(row: object) -> bool:
    """Whether it is ``[{"label": …, "score": …}, …]``."""
    return (
        isinstance(row, list)
        and bool(row)
        and all(isinstance(entry, dict) and {"label", "score"} <= entry.keys() for entry in row)
    )


def _parts(address: str) -> tuple[str, str, str, str | None]:
    """The address to call, the address to show, its query, and user:password if it has them."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or parts.scheme not in ("http", "https"):
        raise UsageError("The address of an HTTP victim must look like https://example.org/classify.")
    if not address.isascii() or not address.isprintable() or " " in address:
        raise UsageError(
            "The address of an HTTP victim has a space or a sign beyond ASCII: percent-encode it."
        )
    place = f"[{host}]" if ":" in host else host
    place += f":{port}" if port else ""
    target = urlunsplit((parts.scheme, place, parts.path or "/", parts.query, ""))
    shown = urlunsplit((parts.scheme, place, parts.path, "", ""))
    login = (
        f"{unquote(parts.username or '')}:{unquote(parts.password or '')}" if "@" in parts.netloc else None
    )
    return target, shown, parts.query, login


def _secret_headers(login: str | None, token_env: str | None) -> dict[str, str]:
    if token_env:
        token = os.environ.get(token_env, "").strip()
        if not token:
            raise UsageError(f"The environment variable {token_env} is not set. Put the token there.")
        return {"Authorization": f"Bearer {token}"}
    if login:
        return {"Authorization": "Basic " + base64.b64encode(login.encode()).decode()}
    return {}
