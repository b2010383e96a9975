"""What nobody should read into this page."""

from __future__ import annotations

from unfooled.records.evidence import Evidence
from unfooled.reports.section import Content, Section
from unfooled.reports.seeds import seed_families


def content(data: Evidence) -> Content:
    models = data.models
    if not models:
        return None
    recipes = {one.about["recipe"]["name"] for model in models for one in model.attacks}
    fickle = [model for model in models if model.of_goal("fickle")]
    return {
        "never_attacked": [model.name for model in models if not model.of_goal("fickle")],
        "recipes": sorted(recipes),
        "no_adaptive": [
            model.name
            for model in fickle
            if not any(one.about["recipe"]["name"] == "adaptive" for one in model.attacks)
        ],
        "no_obstinate": [model.name for model in models if not model.of_goal("obstinate")],
        "never_certified": [model.name for model in models if not model.certified],
        "scaled": [one for one in data.benchmarks if one.scale != 1],
        "seeds": bool(seed_families(data)),
        "small": [run for run in data.runs if run.high - run.low > 0.1],
        "few": [
            f"{model.name}, {one.name}"
            for model in models
            for one in model.attacks
            if (interval := one.rate("racc")["interval"]) and interval[1] - interval[0] > 0.2
        ],
    }


SECTION = Section("untested", "What was not tested", content)
