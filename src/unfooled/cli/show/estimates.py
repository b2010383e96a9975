"""``--dry-run``: what a command would do, and about how long it would take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from unfooled.cli.console import err, out, print_json


def show_estimates(
    verb: Callable[..., object], given: tuple[Any, ...], calls: Mapping[str, Mapping[str, Any]], as_json: bool
) -> None:
    """Rehearse each of the calls of a verb, by its name, and show what came out."""
    from unfooled.api.jobs.estimate import estimate

    found = {}
    for name, settings in calls.items():
        with err.status(f"{name}: trying a few inputs"):
            found[name] = estimate(verb, *given, **settings)
        if not as_json:
            told = found[name]
            out.print(f"{name}: {told.headline()}", soft_wrap=True)
            for fact, value in told.facts():
                out.print(f"  {fact:<17} {value}", soft_wrap=True)
            if (kept := told["result_set"]) and kept["note"]:
                out.print(f"  {kept['note']}", soft_wrap=True)
    if as_json:
        print_json({"dry_run": {name: one.to_dict() for name, one in found.items()}})
