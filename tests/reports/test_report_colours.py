"""Text on the page is legible in light and dark: contrast of at least 4.5 to 1 (WCAG 2, level AA)."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

CSS = files("unfooled.reports").joinpath("templates/style.css").read_text(encoding="utf-8")
LIGHT, DARK = (
    dict(re.findall(r"--([\w-]+): (#\w{6})", block)) for block in CSS.split("* {")[0].split("@media")
)


def channels(colour: str) -> list[float]:
    return [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]


def luminance(rgb: list[float]) -> float:
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: list[float], second: list[float]) -> float:
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["paper", "wash"])
@pytest.mark.parametrize("ink", ["ink", "soft", "accent", "good", "bad"])
def test_text_stands_out(scheme: dict[str, str], ground: str, ink: str) -> None:
    assert contrast(channels(scheme[ink]), channels(scheme[ground])) >= 4.5


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(("cell", "colour"), [("hit", "s1"), ("miss", "s2")])
def test_numbers_stand_out_on_the_darkest_shading(scheme: dict[str, str], cell: str, colour: str) -> None:
    found = re.search(rf"\.{cell} {{.*var\(--share\) \* (\d+)%", CSS)
    assert found
    share = int(found[1]) / 100
    pairs = zip(channels(scheme[colour]), channels(scheme["paper"]), strict=True)
    mixed = [share * top + (1 - share) * under for top, under in pairs]
    assert contrast(channels(scheme["ink"]), mixed) >= 4.5


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
def test_figures_and_marks_stand_out(scheme: dict[str, str]) -> None:
    assert contrast(channels(scheme["mark-ink"]), channels(scheme["mark"])) >= 4.5
    for slot in range(1, 7):
        assert contrast(channels(scheme[f"s{slot}"]), channels(scheme["paper"])) >= 3
