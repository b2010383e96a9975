"""docs/defences.md says of every defence what the code says: summary, predictor, settings, threats."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from unfooled.certificates.smoothing import TRAINED_FOR
from unfooled.defences import DEFENCES
from unfooled.settings import describe_settings

PAGE = (Path(__file__).parents[2] / "docs" / "defences.md").read_text(encoding="utf-8")


def overview(name: str) -> list[str]:
    """Name, summary, predictor, certificates."""
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| [`{name}`]")]
    return [cell.strip() for cell in row.strip("|").split("|")]


@pytest.mark.parametrize("name", DEFENCES)
def test_settings_on_the_page_are_those_of_the_code(name: str) -> None:
    section = PAGE.split(f"\n## {name}\n")[1].split("\n## ")[0]
    listed = [line for line in section.splitlines() if line.startswith("| `")]
    assert listed == [
        f"| `{info.name}` | {'—' if info.default is None else info.default} | {info.help} |"
        for info in describe_settings(DEFENCES[name])
    ]


@pytest.mark.parametrize("name", DEFENCES)
def test_overview_names_what_it_does_and_the_threats_it_is_trained_for(name: str) -> None:
    _, summary, predictor, threats = overview(name)
    assert summary == DEFENCES[name].summary
    assert predictor.startswith("`")
    certified = {threat for threat, names in TRAINED_FOR.items() if name in names}
    assert set(re.findall(r"\b(?:l1|l2|linf|each-word|words|synonyms)\b", threats)) == certified


def test_the_page_lists_the_defences_and_no_others() -> None:
    assert re.findall(r"^\| \[`(.+?)`\]", PAGE, flags=re.MULTILINE) == list(DEFENCES)
