"""What a method adds to the loss is logged beside it, term by term."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import unfooled as uf
from tiny_runs import write_inputs

pytestmark = pytest.mark.full


def test_terms_are_logged_and_add_up_to_the_loss(tmp_path: Path) -> None:
    settings = write_inputs(tmp_path) | {"epochs": 1, "batch_size": 2, "limit": 60, "precision": "float32"}
    run = tmp_path / "run"
    uf.train(run, defence="smart+infobert", **settings)
    logged = [row for row in json.loads((run / "history.json").read_text()) if "loss" in row]
    assert logged
    for row in logged:
        assert row["infobert_loss"] != 0 and row["smart_loss"] > 0
        parts = row["task_loss"] + row["infobert_loss"] + row["smart_loss"]
        assert row["loss"] == pytest.approx(parts, rel=1e-3)
