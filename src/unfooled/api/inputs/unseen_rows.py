"""Rows that a run was trained on are left out of every measurement and counted, whatever the rows are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from unfooled.errors import UsageError
from unfooled.files import writable
from unfooled.records.row_check import RowCheck


def unseen_places(
    run: Path | None,
    in_split: Callable[[str], list[bool]] | None,
    *,
    rows: int,
    include: bool,
    source: str,
    all_of_them: str = "all {:,} rows",
) -> tuple[list[int] | None, RowCheck | None]:
    """The places of the rows that may be used, None if all may; and how many the run was trained on.

    ``in_split`` says of each row whether it is in a split of the run; None if the run does not know its rows.
    ``include``: training rows are used all the same.
    """
    if run is None:
        return None, None
    if in_split is None:
        return None, RowCheck(rows, checked=False)
    trained, dev = in_split("train"), in_split("dev")
    check = RowCheck(rows, sum(trained), included=include, dev=sum(dev))
    if include or not any(trained):
        return None, check
    if all(trained):
        raise UsageError(
            f"{source}: {writable(run)} was trained on {all_of_them.format(rows)}. Name other inputs, or "
            "include them with --allow-training-rows."
        )
    return [place for place, own in enumerate(trained) if not own], check
