"""Charts as Vega-Lite specifications, for the interactive page; they have no colours yet."""

from __future__ import annotations

from collections.abc import Sequence

from unfooled.files import JsonObject
from unfooled.reports.charts import Axis, Chart, Lines, Scatter, Values

VegaSpec = JsonObject
LEGEND: VegaSpec = {"title": None, "orient": "bottom", "columns": 2, "labelLimit": 260, "symbolOpacity": 1}
NUMBER, SHARE = ".4~g", ".1%"


def spec(chart: Chart) -> VegaSpec:
    """The specification of a chart."""
    if isinstance(chart, Lines):
        return _lines(chart)
    return _values(chart) if isinstance(chart, Values) else _scatter(chart)


def _lines(chart: Lines) -> VegaSpec:
    rows = []
    for one in chart.series:
        for number, (at, value) in enumerate(one.points):
            row: VegaSpec = {
                "x": chart.x.names[int(at)] if chart.x.names else at,
                "y": value,
                "series": one.name,
            }
            if one.band:
                row["low"], row["high"] = one.band[number]
            if one.alone:
                row["alone"] = True
            if one.hollow:
                row["hollow"] = True
            rows.append(row)
    names, across = list(chart.x.names), chart.x.title or chart.over
    if names:
        x: VegaSpec = {"field": "x", "type": "ordinal", "title": chart.x.title or None, "sort": names}
        x["axis"] = {"labelAngle": -40 if len(names) > 4 else 0}
        shown: VegaSpec = {"field": "x", "type": "ordinal", "title": across}
    else:
        x = _numbers("x", Axis(across)) | {"axis": {"tickMinStep": chart.x.least}}
        del x["scale"]
        shown = _told("x", across, NUMBER)
    y, form = _numbers("y", chart.y), SHARE if chart.y.percent else NUMBER
    tooltip = [
        {"field": "series", "type": "nominal", "title": "Series"},
        shown,
        _told("y", chart.y.title or chart.title, form),
    ]
    layers: list[VegaSpec] = []
    if any(one.band for one in chart.series):
        tooltip += _ends(form, chart.band)
        step = {"interpolate": "step-before"} if chart.steps else {}
        layers.append(
            {
                "transform": [{"filter": "isValid(datum.low)"}],
                "mark": {"type": "area", "opacity": 0.15, **step},
                "encoding": {
                    "x": x,
                    "y": {**y, "field": "low"},
                    "y2": {"field": "high"},
                    "color": _colour("series"),
                },
            }
        )
    shape = {"interpolate": "step-before"} if chart.steps else {"point": True}
    encoding = {"x": x, "y": y, "color": _colour("series"), "tooltip": tooltip, "opacity": _picked(1.0)}
    layers.append({"mark": {"type": "line", **shape}, "encoding": encoding, **_pick("series")})
    if chart.crosses or chart.hollow:
        layers[-1]["transform"] = [{"filter": "!datum.alone && !datum.hollow"}]
    if chart.hollow:
        dashed = {"type": "line", **shape, "strokeDash": [5, 3], "point": {"filled": False}}
        layers.append({"transform": [{"filter": "datum.hollow"}], "mark": dashed, "encoding": encoding})
    if chart.crosses:
        cross = {"type": "point", "shape": "M-1,-1L1,1M1,-1L-1,1", "size": 90, "strokeWidth": 2}
        layers.append({"transform": [{"filter": "datum.alone"}], "mark": cross, "encoding": encoding})
    return _layered(rows, layers, height=230)


def _values(chart: Values) -> VegaSpec:
    table = [
        {"label": one.label, "value": one.value, "low": one.low, "high": one.high, "slot": str(one.slot)}
        for one in chart.rows
    ]
    ticks = [
        {"label": one.label, "mark": mark, "slot": str(one.slot)} for one in chart.rows for mark in one.marks
    ]
    order = [one.label for one in chart.rows]
    y: VegaSpec = {"field": "label", "type": "nominal", "sort": order, "title": None, "axis": {}}
    x, form = _numbers("value", chart.x), SHARE if chart.x.percent else NUMBER
    tooltip = [
        {"field": "label", "type": "nominal", "title": "Which"},
        _told("value", chart.x.title, form),
    ]
    colour = {"field": "slot", "type": "nominal", "legend": None}
    layers: list[VegaSpec] = []
    if ticks:
        layers.append(
            {
                "data": {"values": ticks},
                "mark": {"type": "tick", "opacity": 0.45},
                "encoding": {"y": y, "x": {**x, "field": "mark"}, "color": colour},
            }
        )
    if any(one.low is not None for one in chart.rows):
        layers.append(
            {
                "transform": [{"filter": "isValid(datum.low)"}],
                "mark": {"type": "rule", "strokeWidth": 2},
                "encoding": {"y": y, "x": {**x, "field": "low"}, "x2": {"field": "high"}, "color": colour},
            }
        )
        tooltip += _ends(form)
    layers.append(
        {
            "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
            "encoding": {"y": y, "x": x, "color": colour, "tooltip": tooltip},
        }
    )
    return _layered(table, layers, height=26 * len(chart.rows))


def _scatter(chart: Scatter) -> VegaSpec:
    rows = []
    for one in chart.points:
        row: VegaSpec = {"label": one.label, "x": one.x, "y": one.y}
        if one.across:
            row["x1"], row["x2"] = one.across
        if one.up:
            row["y1"], row["y2"] = one.up
        rows.append(row)
    x, y = _numbers("x", chart.x), _numbers("y", chart.y)
    tooltip = [
        {"field": "label", "type": "nominal", "title": "Model" if chart.named else "Kind"},
        _told("x", chart.x.title, SHARE if chart.x.percent else f",{NUMBER}"),
        _told("y", chart.y.title, SHARE if chart.y.percent else f",{NUMBER}"),
    ]
    colour = _colour("label")
    layers: list[VegaSpec] = []
    if any("y1" in row for row in rows):
        layers.append(_whisker({"y": {**y, "field": "y1"}, "y2": {"field": "y2"}, "x": x}, "y1", colour))
    if any("x1" in row for row in rows):
        layers.append(_whisker({"x": {**x, "field": "x1"}, "x2": {"field": "x2"}, "y": y}, "x1", colour))
    size, opacity = (80, 0.9) if chart.named else (28, 0.6)
    points: VegaSpec = {
        "mark": {"type": "point", "filled": True, "size": size, "opacity": opacity},
        "encoding": {"x": x, "y": y, "color": colour, "tooltip": tooltip},
    }
    if not chart.named:
        points["encoding"]["shape"] = {"field": "label", "type": "nominal", "legend": LEGEND}
        points["encoding"]["opacity"] = _picked(0.65)
        points |= _pick("label")
    return _layered(rows, [*layers, points], height=280)


def _numbers(field: str, axis: Axis) -> VegaSpec:
    """The encoding of an axis of numbers."""
    found: VegaSpec = {"field": field, "type": "quantitative", "title": axis.title}
    found["axis"] = {"format": ".0%"} if axis.percent else {}
    found["scale"] = {"zero": axis.zero}
    if axis.log:
        found["scale"] = {"type": "log", "nice": True}
        found["axis"] = {"format": ",~g", "tickCount": 5, "grid": False}
    return found


def _told(field: str, title: str, form: str) -> VegaSpec:
    """One line of a tooltip."""
    return {"field": field, "type": "quantitative", "title": title, "format": form}


def _ends(form: str, band: str = "95 %") -> list[VegaSpec]:
    return [_told("low", f"{band} from", form), _told("high", "to", form)]


def _whisker(along: VegaSpec, field: str, colour: VegaSpec) -> VegaSpec:
    return {
        "transform": [{"filter": f"isValid(datum.{field})"}],
        "mark": {"type": "rule", "strokeWidth": 1.5, "opacity": 0.7},
        "encoding": {**along, "color": colour},
    }


def _colour(field: str) -> VegaSpec:
    return {"field": field, "type": "nominal", "legend": LEGEND}


def _pick(field: str) -> VegaSpec:
    """Clicking the legend picks a series."""
    return {"params": [{"name": "picked", "select": {"type": "point", "fields": [field]}, "bind": "legend"}]}


def _picked(full: float) -> VegaSpec:
    return {"condition": {"param": "picked", "value": full}, "value": 0.15}


def _layered(rows: Sequence[VegaSpec], layers: Sequence[VegaSpec], *, height: int) -> VegaSpec:
    return {
        "data": {"values": list(rows)},
        "width": "container",
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "layer": list(layers),
    }
