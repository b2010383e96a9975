"""A tiny run that answers questions, trained once for all tests of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import unfooled as uf
from tiny_questions import tiny_records, write_squad
from tiny_runs import write_encoder


@pytest.fixture(scope="session")
def question_inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("questions")
    return {
        "data": str(write_squad(folder / "tiny.json", tiny_records(120))),
        "encoder": str(write_encoder(folder / "encoder")),
        "max_length": 32,
        "lr": 5e-3,
        "epochs": 6.0,
        "batch_size": 16,
        "device": "cpu",
        "precision": "float32",
    }


@pytest.fixture(scope="session")
def question_run(question_inputs: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "qa"
    uf.train(folder, **question_inputs)
    return folder
