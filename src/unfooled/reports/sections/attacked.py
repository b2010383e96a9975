"""Attacked images: before, after, and their difference, made bright enough to see (grey: no change)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unfooled.records.evidence import Attack, Evidence
from unfooled.records.outcome import Outcome
from unfooled.records.picture import Picture
from unfooled.reports.png import png_text
from unfooled.reports.section import Content, Section
from unfooled.reports.seeds import families_of

PICTURES = 4
"""Successes shown of each attack."""
MOST = 12
"""Attacks of which pictures are shown."""


def content(data: Evidence) -> Content:
    families, shown = families_of(data), dict[object, tuple[str, list[Picture]]]()
    for model in data.models:
        for one in model.attacks:
            key = families[model.name], one.name
            if key not in shown and len(shown) < MOST and (pictures := list(_pictures(one))):
                shown[key] = f"{model.name}, {one.name}", pictures
    return {"groups": list(shown.values())} if shown else None


def _pictures(attack: Attack) -> Iterator[Picture]:
    """The first successes whose pixels were kept, one per image."""
    rows = set[int]()
    for one in attack.outcomes:
        if len(rows) == PICTURES:
            return
        if one.row not in rows and one.status == "success" and one.image is not None and one.image.original:
            rows.add(one.row)
            yield _picture(one, attack)


def _picture(outcome: Outcome, attack: Attack) -> Picture:
    assert outcome.image is not None
    before, after = outcome.image.pixels()
    change = after - before
    largest = float(np.abs(change).max())
    times = 1.0 if largest == 0 else max(1.0, float(f"{0.5 / largest:.1g}"))
    far = "" if outcome.image.distance is None else f", moved by {outcome.image.distance:.3g}"
    confirmed = "" if outcome.verified or not attack.randomised else ", not confirmed on fresh noise"

    def named(label: int | None) -> str:
        return "none" if label is None else attack.labels[label]

    return Picture(
        f"row {outcome.row}{far}{confirmed}",
        f"{named(outcome.first_label)} became {named(outcome.label)}",
        (
            ("image", png_text(before)),
            ("attacked", png_text(after)),
            (f"difference × {times:g}", png_text(0.5 + times * change)),
        ),
    )


SECTION = Section("attacked", "Attacked images", content)
