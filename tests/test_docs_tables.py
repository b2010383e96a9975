"""The tables of the documentation are those that docs/tables.py makes of the code."""

from __future__ import annotations

import sys
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))
import tables


@pytest.mark.parametrize("page", tables.pages(), ids=lambda page: page.name)
def test_tables_are_up_to_date(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert tables.written(text) == text, f"{page.name} is out of date. Run `make docs-tables`."


def test_every_defence_predictor_preset_and_part_of_a_plan_has_its_table() -> None:
    from unfooled.benchmarks.plan_file import presets
    from unfooled.defences import DEFENCES
    from unfooled.predictors import PREDICTORS
    from unfooled.settings import describe_settings

    every = "".join(page.read_text(encoding="utf-8") for page in tables.pages())
    for name, cls in DEFENCES.items():
        assert not describe_settings(cls) or f"<!-- table: defence {name} -->" in every
        assert f"\n## {name}\n" in every
    for name in PREDICTORS:
        assert f"<!-- table: predictor {name} -->" in every
    for name in presets():
        assert f"| `{name}` |" in every
    for name in ("Plan", "DefencePlan", "AttackPlan", "CertificatePlan", "RepeatPlan", "RepresentationsPlan"):
        assert f"<!-- table: plan {name} -->" in every


@pytest.mark.parametrize("kind", ["question", "image"])
def test_pages_of_questions_and_images_list_the_defences_that_serve_them(kind: str) -> None:
    from unfooled.defences import DEFENCES

    page = tables.DOCS / f"{kind}s.md"
    rows = [
        line
        for line in page.read_text(encoding="utf-8").splitlines()
        if line.startswith("| `") or "[`" in line
    ]
    served = "".join(row for row in rows if "refused" not in row)
    refused = "".join(row for row in rows if "refused" in row)
    for name, cls in DEFENCES.items():
        if kind not in getattr(cls, "refuses", {}):
            assert f"`{name}`" in served, name
        elif kind == "question":
            assert f"`{name}`" in refused, name


def test_a_cell_may_hold_the_mark_between_cells() -> None:
    row = tables._rows(["a", "b"], [["x | y", "z"]]).splitlines()[-1]
    assert row == "| x &#124; y | z |"


def test_every_setting_that_is_declared_anywhere_is_in_a_table() -> None:
    every = "".join(page.read_text(encoding="utf-8") for page in tables.pages())
    found = [one for module in _modules_with_settings() for one in _declared_helps(module)]
    assert len(found) > 150
    assert not {(where, text) for where, text in found if text.replace("|", "&#124;") not in every}


_INSIDE = "UNet"
"""The mask network inside ``ars``, whose settings are those of the defence."""


def _modules_with_settings() -> list[str]:
    source = Path(__file__).parents[1] / "src"
    return [
        ".".join(file.relative_to(source).with_suffix("").parts)
        for file in sorted((source / "unfooled").rglob("*.py"))
        if "= setting(" in file.read_text(encoding="utf-8")
    ]


def _declared_helps(module: str) -> list[tuple[str, str]]:
    return [
        (cls.__qualname__, field.metadata["help"])
        for cls in vars(import_module(module)).values()
        if isinstance(cls, type)
        and is_dataclass(cls)
        and cls.__module__ == module
        and cls.__name__ != _INSIDE
        for field in fields(cls)
        if field.metadata.get("help")
    ]
