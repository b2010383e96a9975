"""Figures: well-formed SVG, true to the numbers, whatever the numbers."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unfooled.reports.charts import Axis, Chart, Lines, Point, Scatter, Series, Value, Values
from unfooled.reports.drawings import HEIGHT, WIDTH, drawing, ticks
from unfooled.reports.svg import accuracy_bar
from unfooled.reports.vega import spec

finite = st.floats(-1e6, 1e6)


def parsed(svg: str) -> ElementTree.Element:
    root = ElementTree.fromstring(svg)
    assert root.tag == "svg"
    assert root.get("aria-label") == root.findtext("title")
    return root


def losses(points: list[tuple[float, float]], name: str = "a") -> Lines:
    return Lines("loss", "Loss", [Series(name, points, 1)], over="epoch")


def test_accuracy_bar_is_as_long_as_the_accuracy() -> None:
    root = parsed(accuracy_bar(0.75, 0.7, 0.8, reference=0.5))
    track, bar = root.findall("rect")
    assert float(bar.get("width", 0)) == pytest.approx(0.75 * float(track.get("width", 0)))
    assert "75.0%" in str(root.get("aria-label"))
    assert "50.0%" in str(root.get("aria-label"))


@pytest.mark.parametrize("ends", [(0.0, 0.0, 0.1), (1.0, 0.9, 1.0)])
def test_accuracy_bar_at_its_ends(ends: tuple[float, float, float]) -> None:
    assert parsed(accuracy_bar(*ends)).findall("path")


@given(st.lists(st.tuples(st.floats(0.001, 1e4), finite), min_size=1, max_size=40))
def test_every_point_lies_inside_the_chart(points: list[tuple[float, float]]) -> None:
    root = parsed(drawing(losses(points)))
    for dot in root.findall("circle"):
        assert 0 <= float(dot.get("cx", -1)) <= WIDTH
        assert 0 <= float(dot.get("cy", -1)) <= HEIGHT


def test_series_names_are_escaped() -> None:
    root = parsed(drawing(losses([(1.0, 0.5)], '<b>"&')))
    assert '<b>"& ends at 0.500' in str(root.get("aria-label"))


def test_values_that_are_not_finite_are_left_out() -> None:
    root = parsed(drawing(losses([(1.0, math.nan), (2.0, 0.5), (3.0, math.inf)])))
    assert len(root.findall("circle")) == 1
    with pytest.raises(ValueError, match="at least one point"):
        drawing(losses([(1.0, math.nan)]))


@given(finite, st.floats(0, 1e6))
def test_ticks_enclose_the_range_and_rise(low: float, extent: float) -> None:
    marks = ticks(low, low + extent)
    assert 2 <= len(marks) <= 9
    assert marks == sorted(set(marks))
    assert marks[0] <= low + 1e-6 * max(1, extent)
    assert marks[-1] >= low + extent - 1e-6 * max(1, extent)


def test_accuracy_axis_is_not_magnified() -> None:
    series = [Series("a", [(1.0, 0.83), (2.0, 0.835)], 1)]
    root = parsed(drawing(Lines("dev", "Dev", series, over="epoch", y=Axis(percent=True))))
    labels = [mark.text for mark in root.findall("text") if mark.get("class") == "y"]
    assert len(labels) == len(set(labels))
    assert int(str(labels[-1])[:-1]) - int(str(labels[0])[:-1]) >= 10


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12),
    st.booleans(),
)
def test_values_and_their_intervals_lie_inside_the_chart(
    numbers: list[tuple[float, float, float]], percent: bool
) -> None:
    rows = [Value("a", sorted(n)[1], sorted(n)[0], sorted(n)[2], marks=n) for n in numbers]
    root = parsed(drawing(Values("racc", "RAcc", rows, Axis("RAcc", percent=percent))))
    height = float(str(root.get("viewBox")).split()[3])
    dots = root.findall("circle")
    assert len(dots) == len(rows)
    for dot in dots:
        assert 0 <= float(dot.get("cx", -1)) <= WIDTH
        assert 0 <= float(dot.get("cy", -1)) <= height


@pytest.mark.full
@given(
    st.lists(st.tuples(st.floats(0.01, 1e4), st.floats(0, 1)), min_size=1, max_size=20),
    st.booleans(),
)
def test_points_lie_inside_the_chart_on_either_scale(points: list[tuple[float, float]], log: bool) -> None:
    made = [Point("<b>", x, y, across=(x, x * 1.5), up=(y / 2, y)) for x, y in points]
    root = parsed(drawing(Scatter("cost", "Cost", made, Axis("forwards", log=log), Axis("RAcc"))))
    for dot in root.findall("circle"):
        assert 0 <= float(dot.get("cx", -1)) <= WIDTH
        assert 0 <= float(dot.get("cy", -1)) <= HEIGHT
    assert root.findall("text")[-1].text == "<b>"


def test_further_right_is_more_and_higher_is_more() -> None:
    points = [Point("a", 1.0, 0.2), Point("b", 10.0, 0.4), Point("c", 100.0, 0.6)]
    root = parsed(drawing(Scatter("cost", "Cost", points, Axis("x", log=True), Axis("y"))))
    (x1, x2, x3), (y1, y2, y3) = (
        [float(dot.get(name, 0)) for dot in root.findall("circle")] for name in ("cx", "cy")
    )
    assert x2 - x1 == pytest.approx(x3 - x2, abs=0.2)
    assert y1 > y2 > y3


def test_steps_keep_each_level_up_to_its_own_point() -> None:
    # Certified accuracy between two radii is that of the larger one, never more.
    points = [(0.0, 0.9), (1.0, 0.5), (2.0, 0.1)]
    series = [Series("a", points, 1)]
    root = parsed(drawing(Lines("c", "Certified", series, over="radius", y=Axis(percent=True), steps=True)))
    (line,) = [path for path in root.findall("path") if "line" in str(path.get("class"))]
    dots = [(dot.get("cx"), dot.get("cy")) for dot in root.findall("circle")]
    (x0, y0), (x1, y1), (x2, y2) = dots
    assert line.get("d") == f"M{x0} {y0}V{y1}H{x1}V{y2}H{x2}"


EVERY: list[Chart] = [
    Lines(
        "c",
        "Certified",
        [
            Series("a", [(0, 0.9), (1, 0.4)], 1, [(0.8, 1.0), (0.3, 0.5)]),
            Series("b", [(0, 0.7), (1, 0.1)], 2),
            Series("b again", [(0, 0.6), (1, 0.1)], 2, hollow=True),
        ],
        over="radius",
        x=Axis("radius (words)"),
        y=Axis("share", percent=True, zero=True),
    ),
    Lines("d", "Drift", [Series("a", [(0, 2.0), (1, 3.5)], 1)], over="layer", x=Axis(names=["in", "out"])),
    Values("racc", "RAcc", [Value("a", 0.5, 0.4, 0.6, 1, (0.45, 0.55)), Value("b", 0.7)], Axis("RAcc")),
    Scatter(
        "cost", "Cost", [Point("a", 1.0, 0.5, up=(0.4, 0.6)), Point("b", 20.0, 0.7)], Axis("x"), Axis("y")
    ),
    Scatter("map", "Map", [Point("k", 1.0, 2.0), Point("k", 2.0, 1.0)], Axis("x"), Axis("y"), named=False),
]


@pytest.mark.parametrize("chart", EVERY, ids=lambda chart: chart.name)
def test_both_forms_of_a_chart_show_the_same_data_and_names(chart: Chart) -> None:
    told, drawn = spec(chart), parsed(drawing(chart))
    shown = told["data"]["values"]
    assert len(shown) == len(drawn.findall("circle")) > 0
    names = {str(row.get("series", row.get("label"))) for row in shown}
    assert all(name in str(drawn.get("aria-label")) for name in names)
    if not isinstance(chart, Values):
        assert names == set(chart.slots)  # what the page gives colours to
    encodings = [layer["encoding"] for layer in told["layer"]]
    titles = {one["title"] for encoding in encodings for one in (encoding["x"], encoding["y"])}
    assert {chart.x.title or getattr(chart, "over", ""), None} & titles
