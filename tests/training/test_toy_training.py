"""A defence that uses every part of the seam: alone, combined, killed and resumed, in two processes."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tiny_runs import write_inputs
from warm_processes import start_warm

pytestmark = pytest.mark.full

EXAMPLES, BATCH, ADDED = 64, 16, 20
DEFENCES: dict[str, dict[str, Any]] = {"toy": {}, "freelb+smart+stability+toy": {"votes": 3}}
"""One pass per step; and two with one dropout mask, a mean teacher, noise and a vote."""

KILLED_IN_EPOCH_1 = 8
"""Epoch 0 has 84 examples, 6 steps; epoch 1 has 104, 7 steps."""

KILLED_WITHIN = 9
"""With a checkpoint every two steps, the one of step 8 is two steps into epoch 1."""

Logs = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Logs]:
    """By defence, what each process did: undisturbed, resumed after SIGKILL, two processes."""
    folder = tmp_path_factory.mktemp("toy")
    train = write_inputs(folder) | {"lr": 3e-3, "epochs": 2.5, "batch_size": BATCH, "limit": EXAMPLES}
    train |= {"limit_dev": 8, "limit_test": 8}
    jobs = []
    for defence, settings in DEFENCES.items():
        own = {"train": train | {"defence": defence, "settings": settings}, "kill_at": None, "processes": 1}
        jobs += [
            own | {"out": "plain", "log": "undisturbed"},
            own | {"out": "killed", "log": "killed", "kill_at": KILLED_IN_EPOCH_1},
            own | {"out": "killed", "log": "resumed"},
            own | {"out": "within", "log": "killed", "kill_at": KILLED_WITHIN},
            own | {"out": "within", "log": "resumed within"},
            own | {"out": "two", "log": "two", "processes": 2},
        ]
        for job in jobs[-3:-1]:
            job["train"] = job["train"] | {"checkpoint_every": 2, "data_workers": 2}
        for job in jobs[-6:]:
            job |= {key: str(folder / f"{defence}-{job[key]}") for key in ("out", "log")}
    script = Path(__file__).with_name("toy_runs.py")
    path = os.pathsep.join([str(script.parents[1]), *sys.path])
    process = start_warm([str(script), json.dumps(jobs)], env={**os.environ, "PYTHONPATH": path})
    _, errors = process.communicate()
    assert process.returncode == 0, errors.decode()
    found: dict[str, Logs] = {defence: {} for defence in DEFENCES}
    for file in sorted(folder.glob("*-[01].json")):
        defence, log, _ = file.stem.rsplit("-", 2)
        found[defence].setdefault(log, []).append(json.loads(file.read_text(encoding="utf-8")))
    return found


@pytest.fixture(params=DEFENCES)
def logs(request: pytest.FixtureRequest, trained: dict[str, Logs]) -> Logs:
    return trained[request.param]


def test_every_epoch_trains_on_the_data_that_the_session_made(logs: Logs) -> None:
    (log,) = logs["undisturbed"]
    assert log["data"] == {"0": EXAMPLES + ADDED, "1": EXAMPLES + 2 * ADDED, "2": EXAMPLES + 3 * ADDED}
    for epoch in "01":
        assert len(log["seen"][epoch]) == log["data"][epoch] == len(log["lengths"][epoch])
        assert len(set(log["seen"][epoch])) == EXAMPLES
    assert len(log["seen"]["2"]) == 4 * BATCH, "half of the last epoch's eight steps"
    assert log["metrics"]["train"]["steps"] == 6 + 7 + 4


def test_progress_follows_epochs_of_any_length_to_the_end(logs: Logs) -> None:
    (log,) = logs["undisturbed"]
    done = log["done"]
    assert done[0] == 0
    assert done == sorted(done)
    assert done[6] == pytest.approx(1 / 2.5)
    assert done[13] == pytest.approx(2 / 2.5)
    assert 0.9 < done[-1] < 1


def test_a_killed_training_ends_like_an_undisturbed_one_extra_modules_and_state_included(logs: Logs) -> None:
    (undisturbed,), (resumed,) = logs["undisturbed"], logs["resumed"]
    assert "killed" not in logs, "the killed training wrote no log"
    assert any("critic" in name for name in undisturbed["modules"])
    assert resumed["metrics"]["train"]["resumed"] is True
    assert list(resumed["weights"]) == ["1", "2"], "epoch 0 was not trained again"
    for epoch in ("1", "2"):
        assert resumed["weights"][epoch] == undisturbed["weights"][epoch]
        assert resumed["seen"][epoch] == undisturbed["seen"][epoch]
    assert resumed["final"] == undisturbed["final"]
    assert resumed["metrics"]["test"]["confusion"] == undisturbed["metrics"]["test"]["confusion"]


def test_killed_within_an_epoch_it_goes_on_there_with_the_data_of_that_epoch(logs: Logs) -> None:
    """And with what was drawn for its examples, here by two processes of the data loader, there by none."""
    (undisturbed,), (resumed,) = logs["undisturbed"], logs["resumed within"]
    assert list(resumed["weights"]) == ["1", "2"]
    assert resumed["weights"] == {epoch: undisturbed["weights"][epoch] for epoch in ("1", "2")}, (
        "the data of epoch 1 are made again from the weights that it began with"
    )
    assert len(resumed["seen"]["1"]) == EXAMPLES + 2 * ADDED - 2 * BATCH, "two steps are not done again"
    assert resumed["seen"]["1"] == undisturbed["seen"]["1"][2 * BATCH :]
    assert resumed["seen"]["2"] == undisturbed["seen"]["2"]
    assert resumed["done"] == undisturbed["done"][8:]
    assert resumed["drawn"]["1"] == undisturbed["drawn"]["1"][2 * BATCH :]
    assert resumed["drawn"]["2"] == undisturbed["drawn"]["2"]
    assert len(set(undisturbed["drawn"]["1"])) == EXAMPLES + 2 * ADDED, "copies of one example differ"
    assert resumed["final"] == undisturbed["final"]
    for name in ("loss", "steps"):
        assert resumed["metrics"]["train"][name] == undisturbed["metrics"]["train"][name]


def test_two_processes_share_the_data_and_keep_equal_weights(logs: Logs) -> None:
    first, second = logs["two"]
    assert first["weights"] == second["weights"]
    assert len(set(first["weights"].values())) == 3, "every epoch changed them"
    assert first["final"] == second["final"]
    for epoch in "01":
        assert first["seen"][epoch] != second["seen"][epoch]
        together = set(first["seen"][epoch]) | set(second["seen"][epoch])
        assert len(together) == EXAMPLES, "no example is left out"
    assert first["metrics"]["train"]["processes"] == 2
