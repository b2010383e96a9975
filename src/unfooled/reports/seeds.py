"""Which models differ by their seed only."""

from __future__ import annotations

from typing import Any

from unfooled.errors import UsageError
from unfooled.files import JsonObject
from unfooled.parsing import parse_yaml
from unfooled.records.evidence import Evidence, ModelEvidence


def seed_families(data: Evidence) -> dict[str, list[ModelEvidence]]:
    """Runs that differ by their seed only, two or more, by the names they share."""
    groups: dict[str, list[ModelEvidence]] = {}
    for model in data.models:
        if model.run and (key := _without_seed(model.run.config_text)):
            groups.setdefault(key, []).append(model)
    found = [group for group in groups.values() if len({seed_of(m) for m in group}) > 1]
    return {f"{group[0].defence} on {group[0].task}, like {group[0].name}": group for group in found}


def _without_seed(text: str) -> str:
    config = _config(text)
    return repr(sorted((key, repr(value)) for key, value in config.items() if key != "seed"))


def _config(text: str) -> JsonObject:
    try:
        found = parse_yaml(text, "config.yaml")
    except UsageError:
        return {}
    return found if isinstance(found, dict) else {}


def seed_of(model: ModelEvidence) -> Any:
    return _config(model.run.config_text).get("seed") if model.run else None


def families_of(data: Evidence) -> dict[str, str]:
    """By the name of each model, what it shares with those that differ by the seed only; else that name."""
    own = {model.name: model.name for model in data.models}
    return own | {model.name: name for name, group in seed_families(data).items() for model in group}
