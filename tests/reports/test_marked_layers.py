"""Stretches of a text in several layers: they may overlap, and the text stays text."""

from __future__ import annotations

from unfooled.reports.marked import layered
from unfooled.reports.sections.answers import _added


def test_overlapping_stretches_are_marked_with_all_their_classes() -> None:
    found = str(layered("ab<cd>ef", [("added", [(2, 8)]), ("given", [(3, 5)]), ("right", [(0, 2)])]))
    assert found == (
        '<mark class="right">ab</mark><mark class="added">&lt;</mark><mark class="added given">cd</mark>'
        '<mark class="added">&gt;ef</mark>'
    )
    assert str(layered("a & b", [("added", [])])) == "a &amp; b"
    assert str(layered("", [])) == ""


def test_what_was_added_is_found_at_the_end_in_the_middle_and_nowhere() -> None:
    assert _added("One. Two.", "One. Two. New.") == (9, 14)
    start, end = _added("One. Two.", "One. New. Two.") or (0, 0)
    assert "One. New. Two."[start:end].strip() == "New."
    assert _added("One.", "One.") is None
