"""Which questions are adversarial copies of which: by their ids, as Jia & Liang's files have them.

The id of a copy is the id of the original, a dash and a suffix: ``56be4db0-high-conf-turk0`` is a copy of
``56be4db0``. A dash alone says nothing (``qamr-test-0``): a copy counts as one if its original is there, or
if the suffix is one of AddSent's or of our own attacks (``addsent3``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_SUFFIX = re.compile(r"(?P<original>.+?)-(?:(?:high|low)-conf(?:-turk\d+)?|turk\d+|addsent\d*|addonesent\d*)")


def original_id(own: str, known: Iterable[str] = ()) -> str:
    """The id of the original of a copy; the id itself if it is no copy.

    ``known`` are ids that are there: the longest of them that begins the id up to a dash is the original.
    """
    ids = known if isinstance(known, set | frozenset | dict) else set(known)
    parts = own.split("-")
    for count in range(len(parts) - 1, 0, -1):
        if (shorter := "-".join(parts[:count])) in ids:
            return shorter
    found = _SUFFIX.fullmatch(own)
    return found["original"] if found else own
