"""What is proved: certified accuracy over the radius by threat, and bounds compared on the same votes."""

from __future__ import annotations

from unfooled.files import JsonObject
from unfooled.records.certificate import COUNTED
from unfooled.records.evidence import Certified, Evidence, ModelEvidence
from unfooled.reports import tables
from unfooled.reports.certified import (
    RIGHT,
    at_least,
    certified_at,
    changes,
    curve,
    grid,
    other_predictor,
    sign,
    threats,
    truth_known,
    useful_radius,
)
from unfooled.reports.certified_beside import beside
from unfooled.reports.certified_curves import curves, over_seeds
from unfooled.reports.charts import Axis, Lines, Series
from unfooled.reports.section import Content, Section
from unfooled.reports.tables import Column, Table


def content(data: Evidence) -> Content:
    parts = [_threat(data, threat) for threat in threats(data)]
    if not parts:
        return None
    published = [table for one in data.benchmarks if one.published and (table := beside(data, one.published))]
    return {
        "parts": parts,
        "published": published,
        "tables": [*(table for part in parts for table in part["tables"]), *published],
        "charts": [chart for part in parts for chart in part["charts"]],
    }


def _threat(data: Evidence, threat: str) -> JsonObject:
    found = [(model, one) for model in data.models for one in model.certified if one.threat == threat]
    radius = useful_radius(data, threat)
    any_one = found[0][1]
    compared = [(model, one) for model, one in found if len(one.summary["by_bound"]) > 1]
    # Of several seeds the first is enough to compare bounds.
    bounds = [_by_bound(*group[0]) for group in over_seeds(data, compared)]
    drawn = [*curves(data, threat, found), *bounds]
    return {
        "sign": sign(threat),
        "meaning": any_one.meaning,
        "not_covered": any_one.about.get("not_covered", ""),
        "alpha": _alpha(found),
        "notes": [
            f"{one.of(model.name)}: {note}" for model, one in found for note in one.about.get("notes", ())
        ]
        + [
            f"{one.of(model.name)}: the certification is not finished; these are the inputs done so far."
            for model, one in found
            if not one.about.get("complete", True)
        ],
        "tables": [_table(threat, found, radius)] + ([_bounds(threat, compared)] if compared else []),
        "charts": [chart for chart in drawn if chart],
    }


def _alpha(found: list[tuple[ModelEvidence, Certified]]) -> str:
    """The error rate, or that of each model where they differ."""
    rates = [(one.of(model.name), f"{one.about['sampling']['alpha']:g}") for model, one in found]
    if len({rate for _, rate in rates}) == 1:
        return rates[0][1]
    return ", ".join(f"{rate} ({name})" for name, rate in rates)


def _table(threat: str, found: list[tuple[ModelEvidence, Certified]], radius: float | None) -> Table:
    unit = found[0][1].summary["unit"]
    columns = [
        Column("Model", numeric=False),
        Column("Inputs", meaning="answered: what all shares are of"),
        Column("Certified", meaning=f"{RIGHT[truth_known([one for _, one in found])]}, at radius 0"),
        *([Column(f"Certified {at_least(radius, unit)}", meaning=unit)] if radius is not None else []),
        Column("Average radius", meaning=f"{unit}; 0 where the answer is wrong or not certified"),
        Column(
            "Covers a word",
            meaning="certified for replacing any one word by any listed substitute with as many tokens; "
            "substitutes with more or fewer tokens are not covered",
        ),
        Column("Abstained"),
        Column("Ignores an antonym", meaning="certified texts with an antonym inside the threat"),
        Column("Ignored negations", meaning="single deletions of not, never, no, … inside the threat"),
        Column("Samples per input"),
        Column("Seconds per input"),
    ]
    rows = []
    for model, one in found:
        summary = one.summary
        answered = summary["inputs"] - summary["counts"]["refused"]
        labelled = "" if summary["labelled"] else "truth unknown: share certified"
        refused = summary["counts"]["refused"]
        rows.append(
            [
                tables.words(one.of(model.name), _smoothing(model, one)),
                tables.whole(answered, f"{refused:,} more refused" if refused else ""),
                tables.share(certified_at(one, 0.0), labelled),
                *([tables.share(certified_at(one, radius))] if radius is not None else []),
                tables.mean(summary["average_radius"]),
                tables.share(summary["words_covered"]["at_least_one"])
                if "words_covered" in summary
                else tables.NOTHING,
                tables.share(summary["abstention"]),
                tables.share(summary["obstinacy"]["texts"]) if "obstinacy" in summary else tables.NOTHING,
                tables.whole(summary["obstinacy"]["negations_inside"])
                if "negations_inside" in summary.get("obstinacy", {})
                else tables.NOTHING,
                tables.mean(summary["samples"]),
                tables.count(summary["seconds"] / max(1, answered)),
            ]
        )
    caption = f"Certified against {changes(threat)}, with 95 % intervals (Wilson)."
    return Table(f"certified-{threat}", caption, columns, rows).without_empty_columns()


def _smoothing(model: ModelEvidence, one: Certified) -> str:
    settings = dict(one.about.get("smoothing", {}))
    name = settings.pop("name", "")
    told = [
        f"{key} {', '.join(map(str, value)) if isinstance(value, list | tuple) else value}"
        for key in ("sigma", "kind", "kept", "hidden", "rates", "bins")
        if (value := settings.get(key)) not in (None, [], ())
    ]
    smoothing = ", ".join(filter(None, (str(name), *told)))
    return smoothing + ("; not the predictor of the run" if other_predictor(model, one) else "")


def _bounds(threat: str, compared: list[tuple[ModelEvidence, Certified]]) -> Table:
    names = list(dict.fromkeys(bound for _, one in compared for bound in one.summary["by_bound"]))
    columns = [Column("Model", numeric=False), *(Column(f"{bound}") for bound in names)]
    rows = [
        [
            tables.words(one.of(model.name)),
            *(tables.count(one.summary["by_bound"].get(bound)) for bound in names),
        ]
        for model, one in compared
    ]
    caption = f"Average {sign(threat)} radius by each bound, from the same votes; larger is tighter."
    return Table(f"bounds-{threat}", caption, columns, rows)


def _by_bound(model: ModelEvidence, one: Certified) -> Lines | None:
    names = list(one.summary["by_bound"])
    radii = sorted({radius for bound in names for radius in grid([one], bound)})
    if len(radii) < 2:
        return None
    series = [
        Series(bound, [(row["radius"], row["value"]) for row in curve(one, radii, bound)], slot)
        for slot, bound in enumerate(names, start=1)
    ]
    return Lines(
        f"bounds-{one.threat}-{one.of(model.name)}",
        f"{one.of(model.name)}: bounds on the same votes, {sign(one.threat)}",
        series,
        over="radius",
        x=Axis(f"radius ({one.summary['unit']})"),
        y=Axis(
            "certified accuracy" if one.summary["labelled"] else "certified share", percent=True, zero=True
        ),
        steps=one.summary["unit"] not in COUNTED,
    )


SECTION = Section("certified", "What is proved", content)
