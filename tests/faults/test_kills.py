"""Work that gets SIGKILL at random moments loses nothing: run again, it ends like an undisturbed run."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tiny_runs import write_inputs
from warm_processes import start_warm

KINDS = ["train", "attack", "certify"]
MORE = ["train, own data per epoch", "train, stops early"]


@pytest.fixture(scope="module")
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """By kind of work, what undisturbed and disturbed runs ended with."""
    folder = tmp_path_factory.mktemp("kills")
    train = write_inputs(folder) | {"lr": 3e-3, "epochs": 2.0, "limit": 96, "limit_dev": 8, "limit_test": 16}
    kinds, kills, texts = request.param
    job = {"folder": str(folder), "kinds": kinds, "kills": kills, "texts": texts, "seed": 0}
    job["train"] = train | {"checkpoint_every": 2}
    script = Path(__file__).with_name("kill_runs.py")
    path = os.pathsep.join([str(script.parents[1]), *sys.path])
    process = start_warm([str(script), json.dumps(job)], env={**os.environ, "PYTHONPATH": path})
    _, errors = process.communicate()
    assert process.returncode == 0, errors.decode()[-4000:]
    found: dict[str, Any] = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert list(found) == kinds
    for kind, one in found.items():
        written, ended = one["while writing a checkpoint"], len(one["disturbed"])
        print(f"{kind}: {one['kills']} kills, {written} while a checkpoint was written; {ended} runs ended")
        assert one["kills"] == kills
    return found


@pytest.mark.parametrize(
    "results",
    [
        pytest.param((KINDS, 2, 3), marks=pytest.mark.full, id="6 kills"),
        pytest.param((KINDS + MORE, 20, 12), marks=pytest.mark.slow, id="100 kills"),
    ],
    indirect=True,
)
def test_killed_at_random_moments_work_ends_like_an_undisturbed_run(results: dict[str, Any]) -> None:
    for kind, one in results.items():
        assert one["undisturbed"] and one["disturbed"]
        for place, disturbed in enumerate(one["disturbed"]):
            assert disturbed == one["undisturbed"], f"{kind}, run {place}"
