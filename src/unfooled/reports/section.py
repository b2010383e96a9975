"""What a section is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from unfooled.files import JsonObject
from unfooled.records.evidence import Evidence
from unfooled.reports.svg import SLOTS

Content = JsonObject | None


@dataclass(frozen=True)
class Section:
    """One part of the page."""

    anchor: str
    """Its id on the page and the name of its template."""
    title: str
    content: Callable[[Evidence], Content]


def slots(data: Evidence) -> dict[str, int]:
    """The colour of each model, the same in every figure."""
    return {model.name: index % SLOTS + 1 for index, model in enumerate(data.models)}
