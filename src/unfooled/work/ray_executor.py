"""Ray actors, on this machine or a cluster (``--ray local`` or ``--ray ADDRESS``).

Each actor builds its worker from the pickled spec; this process alone writes the journal. An actor that dies
is replaced and its inputs are done again. Every machine needs unfooled, and the run folder and files that
the spec names at the same paths (a shared file system).
"""

from __future__ import annotations

import os
import pickle
import queue
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

from unfooled.errors import UsageError, UserError
from unfooled.work.crew import attended
from unfooled.work.executor import Piece, Spec, cores, fair_share, packed
from unfooled.work.handout import Handout
from unfooled.work.serving import Message, serve


@dataclass(frozen=True)
class RayActors:
    """``workers`` actors (default: one per CPU of the cluster) on the cluster at ``address``."""

    address: str
    workers: int | None = None
    in_process: ClassVar[bool] = False

    def run(
        self, spec: Spec, pieces: Iterator[Piece], *, count: int, name: Callable[[Any], str]
    ) -> Generator[Piece, None, None]:
        if not count:
            return
        load = packed(spec)
        with connected(self.address, self.workers) as ray:
            found = ray.cluster_resources()
            total = max(1, int(found.get("CPU", 1)))
            size = min(self.workers or total, total, count)
            remote = ray.remote(
                max_restarts=0,
                max_concurrency=2,
                num_cpus=total // size,  # Ray gives as many threads
                num_gpus=min(1, found.get("GPU", 0) / size),
            )(_Actor)
            first = (load, fair_share(count, size), sys.path, os.getcwd())
            handout = Handout(pieces, count=count, workers=size, name=name)
            yield from attended(handout, size, lambda: _Hired(ray, remote.remote(*first)), _heard)


def _heard(crew: Sequence[_Hired]) -> list[_Hired]:
    by_stream = {one.messages: one for one in crew}
    readable, _ = crew[0].ray.wait(list(by_stream), num_returns=1, timeout=60)
    return [by_stream[stream] for stream in readable]


class _Actor:
    """The worker in its own process: ``serve`` in a thread, its messages as a stream."""

    def __init__(self, spec: bytes, at_once: int, path: list[str], folder: str) -> None:
        sys.path.extend(place for place in path if place not in sys.path)
        if os.path.isdir(folder):
            os.chdir(folder)  # relative names mean the same as for the driver
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._messages: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._serving = threading.Thread(target=self._serve, args=(spec, at_once), daemon=True)

    def _serve(self, spec: bytes, at_once: int) -> None:
        serve(lambda: pickle.loads(spec), at_once, self._answers.get, self._messages.put)
        self._messages.put(None)

    def messages(self) -> Iterator[Message]:
        self._serving.start()
        while (message := self._messages.get()) is not None:
            yield message

    def give(self, answer: Any) -> None:
        self._answers.put(answer)


class _Hired:
    """An actor, as the driver sees it."""

    def __init__(self, ray: Any, actor: Any) -> None:
        self.ray, self.actor = ray, actor
        self.messages = actor.messages.remote()
        self._how = "stopped"

    def received(self) -> Message | None:
        try:
            message: Message = self.ray.get(next(self.messages))
        except StopIteration:
            return None
        except self.ray.exceptions.RayActorError as error:
            self._how = f"died (Ray: {_one_line(error)})"
            return None
        return message

    def send(self, answer: list[Piece] | None) -> None:
        self.actor.give.remote(answer)

    def ended(self) -> str:
        return self._how

    def dismiss(self) -> None:
        with suppress(Exception):  # it may be gone already
            self.ray.kill(self.actor)


@contextmanager
def connected(address: str, workers: int | None) -> Iterator[Any]:
    """Ray, connected; the cluster of a program that uses Ray itself is taken as it is and stays up."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        ray: Any = import_module("ray")
    except ImportError as error:
        raise UsageError("--ray needs Ray: pip install 'unfooled[ray]'.") from error
    if ray.is_initialized():
        yield ray
        return
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": True}
    local = {"include_dashboard": False, "num_cpus": max(cores(), workers or 0)} if address == "local" else {}
    try:
        ray.init(address=address, **quiet, **local)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise UserError(
            f"--ray {address}: Ray cannot be reached ({_one_line(error)}). Give the address of "
            "a running cluster (ray start --head), or local."
        ) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
