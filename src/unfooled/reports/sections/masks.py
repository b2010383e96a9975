"""Masks beside the images they were made for (Lyu et al. 2024, Figures 5 to 7)."""

from __future__ import annotations

from unfooled.records.evidence import Evidence
from unfooled.reports.section import Content, Section
from unfooled.reports.seeds import families_of

MOST = 12
"""Models whose masks are shown."""


def content(data: Evidence) -> Content:
    families = families_of(data)
    first = {families[model.name]: model for model in reversed(data.models) if model.pictures}
    models = [model for model in data.models if first.get(families[model.name]) is model]
    if not models:
        return None
    return {
        "models": models[:MOST],
        "left_out": len(models) - MOST if len(models) > MOST else 0,
        "seeds": len(set(families.values())) < len(data.models),
    }


SECTION = Section("masks", "What the masks let through", content)
