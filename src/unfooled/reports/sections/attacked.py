"""Attacked images: before, after, and their difference, made bright enough to see (grey: no change)."""

from __future__ import annotations

import numpy as np

from unfooled.records.evidence import Attack, Evidence
from unfooled.records.outcome import Outcome
from unfooled.records.picture import Picture
from unfooled.reports.certified import SIGNS
from unfooled.reports.png import png_text
from unfooled.reports.section import Content, Section
from unfooled.reports.seeds import families_of

PICTURES = 4
"""Successes shown of each attack."""
MOST = 12
"""Attacks of which pictures are shown."""


def content(data: Evidence) -> Content:
    families, shown = families_of(data), dict[object, tuple[str, list[Picture]]]()
    randomised = False
    for model in data.models:
        for one in model.attacks:
            key = families[model.name], one.name
            if key not in shown and len(shown) < MOST and (pictures := _pictures(one)):
                shown[key] = f"{model.name}, {one.name}", pictures
                randomised = randomised or one.randomised
    return {"groups": list(shown.values()), "randomised": randomised} if shown else None


def _pictures(attack: Attack) -> list[Picture]:
    """The first successes whose pixels were kept, one per image, those that hold on fresh noise first."""
    confirmed, others = dict[int, Outcome](), dict[int, Outcome]()
    # Outcomes are read one by one from the journal. Few are held, because they come with their pixels.
    for one in attack.outcomes:
        if len(confirmed) == PICTURES:
            break
        if one.status == "success" and one.image and one.image.original and one.image.adversarial:
            alike = confirmed if one.verified else others
            if len(alike) < PICTURES:
                alike.setdefault(one.row, one)
    found = [*confirmed.values(), *(one for row, one in others.items() if row not in confirmed)]
    return [_picture(one, attack) for one in found[:PICTURES]]


def _picture(outcome: Outcome, attack: Attack) -> Picture:
    assert outcome.image is not None
    before, after = outcome.image.pixels()
    change = after - before
    largest = float(np.abs(change).max())
    times = 1.0 if largest == 0 else max(1.0, float(f"{0.5 / largest:.1g}"))
    norm, distance = outcome.image.norm, outcome.image.distance
    far = "" if distance is None else f", moved by {distance:.3g} ({SIGNS.get(norm, norm)})"
    confirmed = "" if outcome.verified or not attack.randomised else ", not confirmed on fresh noise"

    def named(label: int | None) -> str:
        if label is None:
            return "none"
        return attack.labels[label] if label < len(attack.labels) else str(label)

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
