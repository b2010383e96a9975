"""InfoBERT and FreeLB in whole trainings: killed and resumed with the critic, and in two processes."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

import child_processes
from tiny_runs import write_inputs

pytestmark = pytest.mark.full

EXAMPLES, BATCH = 48, 16
KILLED_WITHIN = 4
"""Three steps per epoch, a checkpoint every two: the one of step 4 is one step into epoch 1."""


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """What each process did: undisturbed, resumed after SIGKILL, two processes."""
    folder = tmp_path_factory.mktemp("infobert")
    train = write_inputs(folder) | {"lr": 3e-3, "epochs": 2, "batch_size": BATCH, "limit": EXAMPLES}
    train |= {"limit_dev": 8, "limit_test": 8, "checkpoint_every": 2, "defence": "infobert+freelb"}
    own = {"train": train, "kill_at": None, "processes": 1}
    jobs = [
        own | {"out": "plain", "log": "undisturbed"},
        own | {"out": "killed", "log": "killed", "kill_at": KILLED_WITHIN},
        own | {"out": "killed", "log": "resumed"},
        own | {"out": "two", "log": "two", "processes": 2},
    ]
    for job in jobs:
        job |= {key: str(folder / str(job[key])) for key in ("out", "log")}
    script = Path(__file__).with_name("toy_runs.py")
    path = os.pathsep.join([str(script.parents[1]), *sys.path])
    process = child_processes.start(
        [sys.executable, str(script), json.dumps(jobs)], env={**os.environ, "PYTHONPATH": path}
    )
    _, errors = process.communicate()
    assert process.returncode == 0, errors.decode()
    found: dict[str, list[dict[str, Any]]] = {}
    for file in sorted(folder.glob("*-[01].json")):
        found.setdefault(file.stem[:-2], []).append(json.loads(file.read_text(encoding="utf-8")))
    return found


def test_a_killed_training_ends_like_an_undisturbed_one_critic_included(
    logs: dict[str, list[dict[str, Any]]],
) -> None:
    (undisturbed,), (resumed,) = logs["undisturbed"], logs["resumed"]
    assert "killed" not in logs, "the killed training wrote no log"
    assert [name for name in undisturbed["modules"] if "critic" in name]
    assert resumed["metrics"]["train"]["resumed"] is True
    assert list(resumed["weights"]) == ["1"], "epoch 0 was not trained again"
    assert resumed["final"] == undisturbed["final"]
    assert resumed["metrics"]["train"]["loss"] == undisturbed["metrics"]["train"]["loss"]


def test_two_processes_keep_equal_weights_critic_included(logs: dict[str, list[dict[str, Any]]]) -> None:
    first, second = logs["two"]
    assert first["weights"] == second["weights"]
    assert first["final"] == second["final"]
    assert len(set(first["weights"].values())) == 2, "the epoch changed them"
    assert first["seen"]["0"] != second["seen"]["0"]
