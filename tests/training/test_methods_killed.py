"""Methods with modules or copies of their own, in whole trainings: killed and resumed, in two processes."""

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

EXAMPLES, BATCH = 48, 16
KILLED_WITHIN = 4
"""Three steps per epoch, a checkpoint every two: the one of step 4 is one step into epoch 1."""
SYNONYMS = {"film": ["story", "plot"], "scene": ["plot"], "good": ["fine", "great"], "bad": ["poor"]}
METHODS: dict[str, dict[str, Any]] = {
    "infobert+freelb": {},
    "rsmi+bat-triplet": {"settings": {"obstinate_labels": ["down", "up"]}, "data_workers": 1},
}
Logs = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Logs]:
    """By method, what each process did: undisturbed, resumed after SIGKILL, two processes."""
    folder = tmp_path_factory.mktemp("methods")
    train = write_inputs(folder) | {"lr": 3e-3, "epochs": 2, "batch_size": BATCH, "limit": EXAMPLES}
    train |= {"limit_dev": 8, "limit_test": 8, "checkpoint_every": 2}
    (folder / "synonyms.json").write_text(json.dumps(SYNONYMS), encoding="utf-8")
    jobs = []
    for method, settings in METHODS.items():
        own = {"train": train | {"defence": method, **settings}, "kill_at": None, "processes": 1}
        if "settings" in settings:
            own["train"]["settings"] = settings["settings"] | {"table": str(folder / "synonyms.json")}
        jobs += [
            own | {"out": "plain", "log": "undisturbed"},
            own | {"out": "killed", "log": "killed", "kill_at": KILLED_WITHIN},
            own | {"out": "killed", "log": "resumed"},
            own | {"out": "two", "log": "two", "processes": 2},
        ]
        for job in jobs[-4:]:
            job |= {key: str(folder / f"{method}-{job[key]}") for key in ("out", "log")}
    script = Path(__file__).with_name("toy_runs.py")
    path = os.pathsep.join([str(script.parents[1]), *sys.path])
    process = start_warm([str(script), json.dumps(jobs)], env={**os.environ, "PYTHONPATH": path})
    _, errors = process.communicate()
    assert process.returncode == 0, errors.decode()
    found: dict[str, Logs] = {method: {} for method in METHODS}
    for file in sorted(folder.glob("*-[01].json")):
        method, log, _ = file.stem.rsplit("-", 2)
        found[method].setdefault(log, []).append(json.loads(file.read_text(encoding="utf-8")))
    return found


@pytest.fixture(params=METHODS)
def method(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_killed_training_ends_like_an_undisturbed_one_critic_and_copies_included(
    method: str, trained: dict[str, Logs]
) -> None:
    logs = trained[method]
    (undisturbed,), (resumed,) = logs["undisturbed"], logs["resumed"]
    assert "killed" not in logs, "the killed training wrote no log"
    assert bool([name for name in undisturbed["modules"] if "critic" in name]) == ("infobert" in method)
    assert resumed["metrics"]["train"]["resumed"] is True
    assert list(resumed["weights"]) == ["1"], "epoch 0 was not trained again"
    assert resumed["final"] == undisturbed["final"]
    assert resumed["metrics"]["train"]["loss"] == undisturbed["metrics"]["train"]["loss"]
    if "bat" in method:
        last = undisturbed["drawn"]["1"][-len(resumed["drawn"]["1"]) :]
        assert resumed["drawn"]["1"] == last, "the same copies, drawn again"
        copies = [text for pair in undisturbed["drawn"]["0"] + undisturbed["drawn"]["1"] for text in pair]
        assert len(set(copies) - {None}) > 20


def test_two_processes_keep_equal_weights_critic_included(method: str, trained: dict[str, Logs]) -> None:
    first, second = trained[method]["two"]
    assert first["weights"] == second["weights"]
    assert first["final"] == second["final"]
    assert len(set(first["weights"].values())) == 2, "the epoch changed them"
    assert first["seen"]["0"] != second["seen"]["0"]
    if "bat" in method:
        assert all(any(None not in pair for pair in log["drawn"]["0"]) for log in (first, second))
