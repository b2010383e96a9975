"""The sections of the page in their order.

A section is a file with ``SECTION``: its anchor (also the name of its template), its title, and a function
from the data to what the template shows, or None where there is no data. Its ``tables`` and ``charts`` are
shown where the template asks for them; other formats write the tables. A new section is one such file, its
template, and one entry here.
"""

from __future__ import annotations

from unfooled.reports.section import Section
from unfooled.reports.sections import (
    answers,
    attacked,
    attacks,
    certificates,
    costs,
    examples,
    hidden,
    masks,
    mistakes,
    obstinacy,
    repeats,
    reproduce,
    samples,
    setup,
    sizes,
    textattack_logs,
    training,
    unfinished,
    untested,
    verdict,
)

SECTIONS: tuple[Section, ...] = (
    verdict.SECTION,
    answers.SECTION,
    attacks.SECTION,
    sizes.SECTION,
    attacked.SECTION,
    mistakes.SECTION,
    certificates.SECTION,
    masks.SECTION,
    obstinacy.SECTION,
    costs.SECTION,
    repeats.SECTION,
    hidden.SECTION,
    examples.SECTION,
    textattack_logs.SECTION,
    samples.SECTION,
    training.SECTION,
    setup.SECTION,
    unfinished.SECTION,
    reproduce.SECTION,
    untested.SECTION,
)
