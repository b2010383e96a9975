"""Fixtures: hand-written runs in a folder of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from run_folders import MakeRun, write_run


@pytest.fixture(autouse=True)
def _no_chart_library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that do not need the chart library do not fetch it."""
    if request.node.get_closest_marker("network") is None:
        monkeypatch.setattr("unfooled.run.report.chart_library", lambda: None)


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    return lambda name="plain", **what: write_run(tmp_path / name, **what)


@pytest.fixture
def rsmi_marker() -> dict[str, Any]:
    return {
        "defence": {"name": "rsmi", "settings": {"sigma": 0.2, "masked_tokens": 1}},
        "predictor": {"name": "two-step", "sigma": 0.2, "first_votes": 5},
    }
