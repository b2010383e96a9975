"""Fixtures: hand-written runs in a folder of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from run_folders import MakeRun, write_run


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    return lambda name="plain", **what: write_run(tmp_path / name, **what)


@pytest.fixture
def rsmi_marker() -> dict[str, Any]:
    return {
        "defence": {"name": "rsmi", "settings": {"sigma": 0.2, "masked_tokens": 1}},
        "predictor": {"name": "two-step", "sigma": 0.2, "first_votes": 5},
    }
