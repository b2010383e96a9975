"""Run a fuzz case and say how it ended: a normal result, a message to the user, or a failure.

A failure is any other exception, a traceback on the terminal, another exit code than 0, 1 and 2, a case that
takes longer than its deadline, or a file that is left half-written.
"""

from __future__ import annotations

import re
import signal
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from unfooled.errors import UserError

SEED = 13
DEADLINE = 20.0
"""Seconds of one case; a quick machine needs milliseconds for most."""


ADVICE = re.compile(r"\b(delete|remove) (it|this|the (file|folder|journal|run))\b", re.IGNORECASE)
"""No message tells a user to throw data away."""


@dataclass
class Tally:
    """How the cases of one kind ended."""

    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        return self.outcomes.total()


def run_cases(
    name: str, case: Callable[[Random], object], numbers: range, *, deadline: float = DEADLINE
) -> Tally:
    """Run the cases of these numbers. ``case`` does one, drawn from its own chooser.

    It may return ``refused`` where it sees that itself; anything else is a normal result.
    """
    tally = Tally()
    for number in numbers:
        try:
            with _within(deadline):
                ended = "refused" if case(Random(f"{SEED} {name} {number}")) == "refused" else "done"
        except UserError as error:
            ended = "refused"
            if not str(error).strip() or ADVICE.search(str(error)):
                ended = "failed"
                tally.failures.append(f"{name} {number}: the message is {str(error)!r}")
        except Exception:
            ended = "failed"
            tally.failures.append(f"{name} {number}:\n{traceback.format_exc(limit=-6)}")
        tally.outcomes[ended] += 1
    return tally


class TooLong(Exception):
    """The case did not end in time."""


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TooLong(f"more than {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
