"""Charts twice: a Vega-Lite specification for the interactive page, and a drawing that needs no script.

Colours are left to the page, which knows whether it is light or dark: a model's colour is its slot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from unfooled.reports.figures import Series, line_chart
from unfooled.reports.point_figures import Point, Value, scatter_chart, value_chart

Spec = dict[str, Any]
LEGEND: Spec = {"title": None, "orient": "bottom", "columns": 2, "labelLimit": 260, "symbolOpacity": 1}


@dataclass(frozen=True)
class Chart:
    """One figure of the page; ``spec`` has no colours yet (``slots``: name of a series → its slot)."""

    name: str
    title: str
    spec: Spec
    drawing: Markup
    slots: dict[str, int]
    note: str = ""
    legend: bool = False
    """Whether the drawing needs one beside it."""
    axes: str = ""
    """What the axes of the drawing are, in words."""


def lines(
    name: str,
    title: str,
    series: Sequence[Series],
    *,
    over: str = "epoch",
    across: str = "",
    up: str = "",
    percent: bool = False,
    zero: bool = False,
    steps: bool = False,
    least: float = 0.0,
    names: Sequence[str] = (),
    bands: dict[str, Sequence[tuple[float, float]]] | None = None,
    note: str = "",
) -> Chart:
    """Lines; ``bands`` holds the interval of each point by the name of its series; ``least`` is the smallest
    step between the numbers across."""
    rows = []
    for one in series:
        intervals = (bands or {}).get(one.name)
        for number, (at, value) in enumerate(one.points):
            row: Spec = {"x": names[int(at)] if names else at, "y": value, "series": one.name}
            if intervals:
                row["low"], row["high"] = intervals[number]
            rows.append(row)
    x: Spec = {"field": "x", "type": "quantitative", "title": across or over, "axis": {"tickMinStep": least}}
    if names:
        x = {"field": "x", "type": "ordinal", "title": across or None, "sort": list(names)}
        x["axis"] = {"labelAngle": -40 if len(names) > 4 else 0}
    y_axis = {"format": ".0%"} if percent else {}
    y: Spec = {"field": "y", "type": "quantitative", "title": up, "axis": y_axis, "scale": {"zero": zero}}
    shape = {"interpolate": "step-before"} if steps else {"point": True}
    tooltip = [
        {"field": "series", "type": "nominal", "title": "Series"},
        {"field": "x", "type": "ordinal" if names else "quantitative", "title": across or over}
        | ({} if names else {"format": ".4~g"}),
        {
            "field": "y",
            "type": "quantitative",
            "title": up or title,
            "format": ".1%" if percent else ".4~g",
        },
    ]
    layers: list[Spec] = []
    if bands:
        form = ".1%" if percent else ".4~g"
        tooltip += [
            {"field": "low", "type": "quantitative", "title": "95 % from", "format": form},
            {"field": "high", "type": "quantitative", "title": "to", "format": form},
        ]
        layers.append(
            {
                "mark": {
                    "type": "area",
                    "opacity": 0.15,
                    **({"interpolate": "step-before"} if steps else {}),
                },
                "encoding": {
                    "x": x,
                    "y": {**y, "field": "low"},
                    "y2": {"field": "high"},
                    "color": _colour(),
                },
            }
        )
    layers.append(
        {
            "mark": {"type": "line", **shape},
            "encoding": {"x": x, "y": y, "color": _colour(), "tooltip": tooltip, "opacity": _picked()},
            **_pick(),
        }
    )
    slots = {one.name: one.slot for one in series}
    drawing = line_chart(series, title=title, percent=percent, over=over, names=names, steps=steps)
    return Chart(name, title, _layered(rows, layers, height=230), drawing, slots, note, len(slots) > 1)


def values(
    name: str, title: str, rows: Sequence[Value], *, across: str, percent: bool = False, note: str = ""
) -> Chart:
    """One row a value with its interval and, as ticks, the single measurements behind it."""
    order = [one.label for one in rows]
    table = [
        {"label": one.label, "value": one.value, "low": one.low, "high": one.high, "slot": str(one.slot)}
        for one in rows
    ]
    ticks = [{"label": one.label, "mark": mark, "slot": str(one.slot)} for one in rows for mark in one.marks]
    form = ".1%" if percent else ".4~g"
    y: Spec = {"field": "label", "type": "nominal", "sort": order, "title": None, "axis": {}}
    x: Spec = {
        "field": "value",
        "type": "quantitative",
        "title": across,
        "scale": {"zero": False},
        "axis": {"format": ".0%"} if percent else {},
    }
    tooltip = [
        {"field": "label", "type": "nominal", "title": "Which"},
        {"field": "value", "type": "quantitative", "title": across, "format": form},
    ]
    colour = {"field": "slot", "type": "nominal", "legend": None}
    layers: list[Spec] = []
    if ticks:
        layers.append(
            {
                "data": {"values": ticks},
                "mark": {"type": "tick", "opacity": 0.45},
                "encoding": {"y": y, "x": {**x, "field": "mark"}, "color": colour},
            }
        )
    if any(one.low is not None for one in rows):
        layers.append(
            {
                "transform": [{"filter": "isValid(datum.low)"}],
                "mark": {"type": "rule", "strokeWidth": 2},
                "encoding": {"y": y, "x": {**x, "field": "low"}, "x2": {"field": "high"}, "color": colour},
            }
        )
        tooltip += [
            {"field": "low", "type": "quantitative", "title": "95 % from", "format": form},
            {"field": "high", "type": "quantitative", "title": "to", "format": form},
        ]
    layers.append(
        {
            "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
            "encoding": {"y": y, "x": x, "color": colour, "tooltip": tooltip},
        }
    )
    spec = _layered(table, layers, height=26 * len(rows))
    slots = {str(one.slot): one.slot for one in rows}
    return Chart(name, title, spec, value_chart(rows, title=title, percent=percent), slots, note)


def scatter(
    name: str,
    title: str,
    points: Sequence[Point],
    *,
    across: str,
    up: str,
    percent: tuple[bool, bool] = (False, False),
    log: bool = False,
    named: bool = True,
    note: str = "",
) -> Chart:
    """One number against another. Unless ``named``, points of a label are a group of that colour."""
    rows = []
    for one in points:
        row: Spec = {"label": one.label, "x": one.x, "y": one.y}
        if one.across:
            row["x1"], row["x2"] = one.across
        if one.up:
            row["y1"], row["y2"] = one.up
        rows.append(row)
    x: Spec = {"field": "x", "type": "quantitative", "title": across, "scale": {"zero": False}}
    y: Spec = {"field": "y", "type": "quantitative", "title": up, "scale": {"zero": False}}
    if log:
        x["scale"] = {"type": "log", "nice": True}
        x["axis"] = {"format": ",~g", "tickCount": 5, "grid": False}
    for axis, is_percent in ((x, percent[0]), (y, percent[1])):
        if is_percent:
            axis["axis"] = {"format": ".0%"}
    formats = [".1%" if is_percent else ",.4~g" for is_percent in percent]
    tooltip = [
        {"field": "label", "type": "nominal", "title": "Model" if named else "Kind"},
        {"field": "x", "type": "quantitative", "title": across, "format": formats[0]},
        {"field": "y", "type": "quantitative", "title": up, "format": formats[1]},
    ]
    colour = _colour("label")
    layers: list[Spec] = []
    if any("y1" in row for row in rows):
        layers.append(_whisker("y", x, y, colour))
    if any("x1" in row for row in rows):
        layers.append(_whisker("x", x, y, colour))
    layers.append(
        {
            "mark": {
                "type": "point",
                "filled": True,
                "size": 80 if named else 28,
                "opacity": 0.9 if named else 0.6,
            },
            "encoding": {"x": x, "y": y, "color": colour, "tooltip": tooltip}
            | ({} if named else {"shape": {"field": "label", "type": "nominal", "legend": LEGEND}}),
        }
    )
    if not named:
        layers[-1]["encoding"]["opacity"] = _picked(0.65)
        layers[-1] |= _pick("label")
    slots = {one.label: one.slot for one in points}
    drawing = scatter_chart(
        points, title=title, across=across, up=up, percent=percent, log=log, labelled=named
    )
    return Chart(
        name,
        title,
        _layered(rows, layers, height=280),
        drawing,
        slots,
        note,
        not named,
        f"Across: {across}. Up: {up}.",
    )


def _whisker(axis: str, x: Spec, y: Spec, colour: Spec) -> Spec:
    along = {"x": {**x, "field": "x1"}, "x2": {"field": "x2"}, "y": y} if axis == "x" else {}
    along = along or {"y": {**y, "field": "y1"}, "y2": {"field": "y2"}, "x": x}
    return {
        "transform": [{"filter": f"isValid(datum.{axis}1)"}],
        "mark": {"type": "rule", "strokeWidth": 1.5, "opacity": 0.7},
        "encoding": {**along, "color": colour},
    }


def _colour(field: str = "series") -> Spec:
    return {"field": field, "type": "nominal", "legend": LEGEND}


def _pick(field: str = "series") -> Spec:
    """Clicking the legend picks a series."""
    return {"params": [{"name": "picked", "select": {"type": "point", "fields": [field]}, "bind": "legend"}]}


def _picked(full: float = 1.0) -> Spec:
    return {"condition": {"param": "picked", "value": full}, "value": 0.15}


def _layered(rows: Sequence[Spec], layers: Sequence[Spec], *, height: int) -> Spec:
    return {
        "data": {"values": list(rows)},
        "width": "container",
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "layer": list(layers),
    }
