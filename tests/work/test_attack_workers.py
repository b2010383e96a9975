"""Attacks by worker processes: the rows of an attack in this process, whoever is killed meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tiny_attacks
from attacked import ROWS, attacked, rows, write_noisy
from child_processes import start, wait_until
from tiny_attacks import Swap, write_examples
from tiny_models import tiny_classifier
from unfooled.api.attack import attack
from unfooled.api.jobs.attack_job import read_attack
from unfooled.api.load import load
from unfooled.attacks.tools import Tools
from unfooled.attacks.victims import as_victim
from unfooled.data.inputs import Inputs
from unfooled.errors import UsageError, UserError
from unfooled.predictors import Classifier, Vote


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A randomised classifier in a folder."""
    return write_noisy(tmp_path_factory.mktemp("attacked"))


@pytest.fixture(scope="module")
def expected(run: Path) -> dict[tuple[str, int], Any]:
    found = attacked(run, run, run.parent / "inline")
    assert len(found) == ROWS
    assert {one["status"] for one in found.values()} >= {"success", "failed"}
    return found


@pytest.mark.full
def test_two_processes_leave_the_rows_of_this_process(
    run: Path, tmp_path: Path, expected: dict[tuple[str, int], Any]
) -> None:
    assert attacked(run, run, tmp_path, workers=2) == expected
    order = [one.row for one in read_attack(tmp_path).outcomes]
    assert order == [one.row for one in read_attack(run.parent / "inline").outcomes]


@pytest.mark.full
def test_three_processes_open_a_loaded_classifier_by_its_folder(
    run: Path, tmp_path: Path, expected: dict[tuple[str, int], Any]
) -> None:
    classifier = load(run, device="cpu", precision="float32")
    assert attacked(classifier, run, tmp_path, workers=3) == expected


@pytest.mark.full
def test_a_classifier_that_differs_from_its_folder_is_refused(run: Path, tmp_path: Path) -> None:
    import torch

    classifier = load(run, device="cpu", precision="float32").with_predictor(Vote(votes=5))
    with torch.no_grad():
        next(classifier.model.module.parameters()).add_(1.0)
    with pytest.raises(UserError, match=r"found another one: weights, predictor differ.*Save"):
        attacked(classifier, run, tmp_path, workers=2, limit=1)  # for one input one process starts


@pytest.mark.full
def test_a_function_of_a_module_travels_and_others_are_refused(run: Path, tmp_path: Path) -> None:
    victim = as_victim(tiny_attacks.scores, labels=tiny_attacks.LABELS)
    alone = attacked(victim, run, tmp_path / "alone")
    assert attacked(victim, run, tmp_path / "two", workers=2) == alone
    with pytest.raises(UsageError, match=r"a lambda.*FILE\.py:FUNCTION"):
        attacked(as_victim(lambda texts: [], labels=("down", "up")), run, tmp_path / "lambda", workers=2)
    live = Classifier(tiny_classifier("bert", labels=2), Vote(), labels=["down", "up"])
    with pytest.raises(UsageError, match=r"only in this process\. Save it"):
        attacked(live, run, tmp_path / "live", workers=2)
    with pytest.raises(UsageError, match=r"module that can be imported"):
        attack(
            "tiny_attacks:scores",
            Inputs(texts=["so fine"], labels=[1]),
            recipe=_local_recipe(),
            tools=Tools(validity=False),
            workers=2,
        )


def _local_recipe() -> Swap:
    class Mine(Swap):
        """Defined inside a function, as in a notebook cell."""

    return Mine()


VICTIM = """
import os, time
from tiny_attacks import scores as judged

def scores(texts):
    with open("workers.txt", "a") as file:
        file.write(f"{os.getpid()}\\n")
    if os.path.exists("slow"):
        time.sleep(0.02)
    return judged(texts)
"""


def started(folder: Path, out: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "unfooled", "attack", "victim.py:scores", "--labels", "down,up"]
    command += [
        "--data",
        "examples.csv",
        "--recipe",
        "deepwordbug",
        "--no-validity",
        "--set",
        "max_distance=4",
    ]
    path = os.pathsep.join(sys.path)
    return start(
        [*command, "--workers", "2", "--out", out], cwd=folder, env={**os.environ, "PYTHONPATH": path}
    )


def wait_for(process: subprocess.Popen[bytes], folder: Path, count: int) -> None:
    wait_until(process, lambda: len(rows(folder)) >= count)


@pytest.mark.full
def test_killed_workers_a_killed_command_and_ctrl_c_change_nothing_in_the_end(tmp_path: Path) -> None:
    write_examples(tmp_path / "examples.csv", 60)
    (tmp_path / "victim.py").write_text(VICTIM)
    (tmp_path / "slow").touch()
    out = tmp_path / "killed"

    process = started(tmp_path, "killed")
    wait_for(process, out, 3)
    process.kill()
    process.wait()
    first = rows(out)
    assert 3 <= len(first) < 60

    process = started(tmp_path, "killed")
    wait_for(process, out, len(first) + 3)
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=60)
    assert process.returncode == 130 and b"same command" in message and b"Traceback" not in message
    second = rows(out)
    assert first.items() <= second.items() and len(second) < 60
    partial = read_attack(out)
    assert partial.about["complete"] is False and len(partial.outcomes) == len(second)

    (tmp_path / "workers.txt").unlink()
    process = started(tmp_path, "killed")
    wait_for(process, out, len(second) + 3)
    os.kill(int((tmp_path / "workers.txt").read_text().split()[0]), signal.SIGKILL)
    (tmp_path / "slow").unlink()
    _, message = process.communicate(timeout=120)
    assert process.returncode == 0 and b"killed (SIGKILL)" in message and b"Traceback" not in message
    assert second.items() <= rows(out).items()

    assert started(tmp_path, "whole").wait(120) == 0
    assert rows(out) == rows(tmp_path / "whole") and len(rows(out)) == 60
    assert read_attack(out).about["complete"] is True
