"""What a call of ``attack`` or ``certify`` would do, and about how long it would take.

The call is prepared as it is; a few inputs are tried for at most some ten seconds; nothing is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from unfooled.records.results.documents import Estimate
from unfooled.storage.result_sets import rehearsing
from unfooled.work.rehearsal import Rehearsed


def estimate(
    verb: Callable[..., object], *given: Any, workers: int | None = None, **settings: Any
) -> Estimate:
    """Rehearse ``verb(*given, **settings)``: sizes, the result set, and the time it would take.

    >>> estimate(uf.attack, "runs/rsmi", recipe="textfooler", limit=200)["seconds"]
    """
    seen: list[Any] = []
    settings["progress"] = seen.append
    with rehearsing() as rehearsal:
        try:
            verb(*given, workers=workers, **settings)
        except Rehearsed as stop:
            found = stop
        else:
            raise ValueError(f"{verb.__name__} does no work that can be rehearsed")
    each = found.seconds / found.tried if found.tried else 0.0
    crew = workers or 1
    return Estimate(
        {
            "what": verb.__name__,
            "inputs": seen[0].total,
            "from_journal": seen[0].done,
            "left": found.left,
            "measured": found.tried,
            "seconds_per_input": each,
            "loading_seconds": found.loading,
            "workers": crew,
            "seconds": found.loading + each * found.left / min(crew, max(1, found.left)),
            "result_set": rehearsal.chosen,
        }
    )
