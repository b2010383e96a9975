"""Draws docs/images/theorem1.svg: why Theorem 1 of Moon et al. 2023 is not a certificate, in one dimension.

    python docs/figures/theorem1.py

f(x) = 1[x > 0], x = 0.2. Left, with σ = 0.2: where the smoothed answer holds and where each bound says it
does. Right: both radii and the true one over σ. Every number is computed by ``unfooled.statistics.bounds``.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from statistics import NormalDist

from unfooled.statistics.bounds import UnsoundBoundWarning, gaussian_l2, rsmi_theorem1_radius

TARGET = Path(__file__).parents[1] / "images" / "theorem1.svg"
POINT, SIGMA = 0.2, 0.2
TRUE, SOUND, CLAIMED, INK, FAINT = "#6b7280", "#15803d", "#b91c1c", "#1f2937", "#d1d5db"
ONE, OTHER = "#dbeafe", "#fde8d8"

Points = Sequence[tuple[float, float]]


def radii(sigma: float) -> tuple[float, float, float]:
    """The distance at which the smoothed answer changes, the Gaussian radius, what Theorem 1 states."""
    p_top = NormalDist().cdf(POINT / sigma)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnsoundBoundWarning)
        claimed = rsmi_theorem1_radius(p_top, 1 - p_top, [sigma])
    return POINT, gaussian_l2(p_top, 1 - p_top, sigma), claimed


def drawn() -> str:
    """The figure as SVG text."""
    true, sound, claimed = radii(SIGMA)
    words = (
        f"The smoothed answer for x = {POINT} with noise {SIGMA} changes at distance {true:.2g}. The "
        f"Gaussian radius is {sound:.2g}; Theorem 1 states {claimed:.2g}, and more the less noise there is."
    )
    parts = [
        '<rect width="860" height="350" fill="#ffffff"/>',
        *_line_panel(true, sound, claimed),
        *_sigma_panel(),
    ]
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 350" role="img" '
        'font-family="system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif" '
        f'font-size="13" fill="{INK}">\n<title>{words}</title>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _line_panel(true: float, sound: float, claimed: float) -> list[str]:
    """The smoothed classifier on the line, and three intervals around the point below it."""
    low, high, left, right, top, bottom = -5.2, 5.6, 40.0, 490.0, 52.0, 150.0

    def across(x: float) -> float:
        return left + (x - low) / (high - low) * (right - left)

    def up(p: float) -> float:
        return bottom - p * (bottom - top)

    smooth = NormalDist(0, SIGMA)
    grid = [low + step * (high - low) / 540 for step in range(541)]
    zero, at = across(0), across(POINT)
    parts = [
        _text(left, 24, f"f(x) = 1[x &gt; 0], σ = {SIGMA}, x = {POINT}", weight="600"),
        f'<rect x="{left}" y="{top}" width="{_n(zero - left)}" height="246" fill="{OTHER}"/>',
        f'<rect x="{_n(zero)}" y="{top}" width="{_n(right - zero)}" height="246" fill="{ONE}"/>',
        _text(left + 8, top + 18, "smoothed answer 0"),
        _text(right - 8, bottom - 8, "smoothed answer 1", anchor="end"),
        _text(left - 5, up(1) + 4, "1", anchor="end", size=11),
        _text(left - 5, up(0) + 4, "0", anchor="end", size=11),
        _path([(across(x), up(smooth.cdf(x))) for x in grid], INK, 1.6),
        f'<circle cx="{_n(at)}" cy="{_n(up(smooth.cdf(POINT)))}" r="4" fill="{INK}"/>',
        _text(at + 10, up(smooth.cdf(POINT)) + 5, f"x: P(1) = {smooth.cdf(POINT):.2f}"),
        f'<line x1="{_n(at)}" x2="{_n(at)}" y1="{_n(up(smooth.cdf(POINT)))}" y2="292" stroke="{INK}" '
        'stroke-width="1" stroke-dasharray="2 3"/>',
    ]
    rows = [
        (186.0, TRUE, true, f"the answer holds up to {true:.2g}"),
        (222.0, SOUND, sound, f"gaussian_l2: {sound:.2g}"),
        (272.0, CLAIMED, claimed, f"Theorem 1: {claimed:.2g}"),
    ]
    for y, colour, radius, words in rows:
        start, end = across(POINT - radius), across(POINT + radius)
        place = f'x="{_n(start)}" y="{_n(y - 6)}" width="{_n(end - start)}" height="12"'
        parts.append(f'<rect {place} rx="2" fill="{colour}"/>')
        if radius < 1:
            parts.append(_text(end + 8, y + 5, words))
        else:
            parts.append(_text(at + 24, y - 13, words, colour=colour, weight="600"))
            parts.append(
                _text(zero - 8, y - 13, "claimed, and wrong", anchor="end", colour=colour, weight="600")
            )
    for x in range(-5, 6):
        parts.append(_tick(across(x), 298))
        parts.append(_text(across(x), 315, str(x).replace("-", "−"), anchor="middle", size=11))
    parts.append(_text((left + right) / 2, 337, "x", anchor="middle"))
    return parts


def _sigma_panel() -> list[str]:
    """Radii over σ, both logarithmic."""
    left, right, top, bottom = 575.0, 845.0, 52.0, 298.0
    low, high, least, most = 0.05, 2.0, 0.03, 100.0

    def across(sigma: float) -> float:
        return left + math.log(sigma / low) / math.log(high / low) * (right - left)

    def up(radius: float) -> float:
        return bottom - math.log(radius / least) / math.log(most / least) * (bottom - top)

    sigmas = [low * (high / low) ** (step / 60) for step in range(61)]
    lines = list(zip(*[radii(sigma) for sigma in sigmas], strict=True))
    true, sound, claimed = ([(across(s), up(r)) for s, r in zip(sigmas, line, strict=True)] for line in lines)
    parts = [_text(left - 35, 24, f"Radius at x = {POINT} over σ", weight="600")]
    for radius in (0.1, 1.0, 10.0, 100.0):
        parts.append(
            f'<line x1="{left}" x2="{right}" y1="{_n(up(radius))}" y2="{_n(up(radius))}" stroke="{FAINT}"/>'
        )
        parts.append(_text(left - 6, up(radius) + 4, f"{radius:g}", anchor="end", size=11))
    for sigma in (0.05, 0.1, 0.2, 0.5, 1.0, 2.0):
        parts.append(_tick(across(sigma), bottom))
        parts.append(_text(across(sigma), 315, f"{sigma:g}", anchor="middle", size=11))
    parts += [
        f'<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="{INK}"/>',
        _path(true, TRUE, 6, opacity=0.55),
        _path(sound, SOUND, 2),
        _path(claimed, CLAIMED, 2),
        f'<circle cx="{_n(across(SIGMA))}" cy="{_n(up(radii(SIGMA)[2]))}" r="4" fill="{CLAIMED}"/>',
        _text(across(SIGMA) + 10, up(radii(SIGMA)[2]) - 6, "Theorem 1: 0.2/σ²", colour=CLAIMED, weight="600"),
        _text(across(0.054), up(0.2) - 8, "true, and gaussian_l2", colour=SOUND, weight="600"),
        _text((left + right) / 2, 337, "σ", anchor="middle"),
    ]
    return parts


def _text(
    x: float,
    y: float,
    words: str,
    *,
    anchor: str = "start",
    size: int = 13,
    colour: str | None = None,
    weight: str | None = None,
) -> str:
    extra = "".join(
        f' {name}="{value}"' for name, value in (("fill", colour), ("font-weight", weight)) if value
    )
    return f'<text x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}" font-size="{size}"{extra}>{words}</text>'


def _path(points: Points, colour: str, width: float, *, opacity: float = 1.0) -> str:
    steps = "L".join(f"{_n(x)} {_n(y)}" for x, y in points)
    return (
        f'<path d="M{steps}" fill="none" stroke="{colour}" stroke-width="{width:g}" '
        f'stroke-opacity="{opacity:g}"/>'
    )


def _tick(x: float, y: float) -> str:
    return f'<path d="M{_n(x)} {_n(y)}v4" stroke="{INK}"/>'


def _n(value: float) -> str:
    """A coordinate in one decimal, the same on every machine."""
    return f"{value:.1f}".removesuffix(".0")


if __name__ == "__main__":
    TARGET.write_text(drawn(), encoding="utf-8")
