"""Attacks on images in the terminal: their options, and accuracy against the size of the attack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unfooled.cli.console import rate
from unfooled.errors import UsageError
from unfooled.files import JsonMapping

if TYPE_CHECKING:
    from unfooled.records.outcome import Outcome

NAMES = {"linf": "ℓ∞", "l2": "ℓ2"}


def parse_sizes(text: str | None) -> tuple[float, ...]:
    """The numbers of ``--sizes 0.05,0.1``."""
    found = []
    for part in [] if text is None else text.split(","):
        try:
            found.append(float(part))
        except ValueError as error:
            raise UsageError(
                f"--sizes {text}: {part.strip() or 'nothing'!r} is not a number. Write --sizes 0.05,0.1,0.2."
            ) from error
    return tuple(found)


def curve_lines(summary: JsonMapping) -> list[str]:
    """Accuracy at each size, one line each; nothing for texts, or for a single size."""
    curve = summary.get("curve", [])
    if len(curve) < 2:
        return []
    key = "racc_verified" if summary["randomised"] else "racc"
    words = "re-verified on fresh noise" if summary["randomised"] else "correct under attack"
    lines = [f"accuracy against the size of the attack ({NAMES[summary['norm']]}), {words}:"]
    return lines + [f"  {point['size']:<8g} {rate(point[key])}" for point in curve]


def moved_text(outcome: Outcome) -> str:
    """How far an image was moved."""
    change = outcome.image
    assert change is not None
    by = f", by {change.found_by}" if change.found_by else ""
    far = "" if change.distance is None else f", {NAMES[change.norm]} distance {change.distance:.4g}"
    return f"{outcome.original[0]}{far}{by}"
