"""The picture of the counterexample is what its script draws."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "docs" / "figures" / "theorem1.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("theorem1", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_file_is_what_the_script_draws(script: ModuleType) -> None:
    assert script.TARGET.read_text(encoding="utf-8") == script.drawn()


def test_the_numbers_are_those_of_the_page(script: ModuleType) -> None:
    assert script.radii(0.2) == pytest.approx((0.2, 0.2, 5.0))
    assert script.radii(1.0)[2] == pytest.approx(0.2) and script.radii(0.1)[2] == pytest.approx(20.0)
    for number in ("changes at distance 0.2", "radius is 0.2", "states 5"):
        assert number in script.drawn()
