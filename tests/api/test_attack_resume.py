"""A killed attack goes on where it stood: nothing lost, nothing done twice, the same result."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from child_processes import start, wait_until
from journals import stored
from tiny_attacks import write_examples
from tiny_runs import GOOD
from unfooled.api.attack import attack
from unfooled.api.jobs.attack_job import TABLE, read_attack
from unfooled.attacks.tools import Tools
from unfooled.data.inputs import Inputs
from unfooled.records.outcome import Outcome

ROWS = 60
VICTIM = f"""
import time

def scores(texts):
    with open("asked.txt", "a") as file:
        file.writelines(text + "\\n" for text in texts)
    time.sleep(0.002 * len(texts))
    return judged(texts)

def judged(texts):
    return [[0.1, 0.9] if set(text.lower().split()) & {set(GOOD)} else [0.7, 0.3] for text in texts]

class Noisy:
    labels = ("down", "up")
    randomised = True

    def answers(self, asked):
        # The same, turned around in one answer of five: the key decides which.
        import random
        from unfooled.attacks import Answer

        time.sleep(0.01)
        found = []
        for one, (down, up) in zip(asked, judged([item.query[0] for item in asked])):
            if random.Random(one.key).random() < 0.2:
                down, up = up, down
            found.append(Answer((down, up), int(up > down)))
        return found

    def describe(self):
        return {{"kind": "noisy"}}

noisy = Noisy()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_examples(tmp_path / "examples.csv", ROWS)
    (tmp_path / "victim.py").write_text(VICTIM)
    return tmp_path


def command(out: str, in_flight: int, victim: str) -> list[str]:
    """A recipe that draws at random: misspellings."""
    options = ["--recipe", "deepwordbug", "--no-validity", "--seed", "5", "--in-flight", str(in_flight)]
    data = ["--data", "examples.csv", "--set", "max_distance=4"]
    names = ["--labels", "down,up"] if victim == "scores" else []
    program = [sys.executable, "-m", "unfooled", "attack", f"victim.py:{victim}"]
    return [*program, *data, *names, *options, "--out", out]


def started(folder: Path, out: str, in_flight: int, victim: str = "scores") -> subprocess.Popen[bytes]:
    return start(command(out, in_flight, victim), cwd=folder)


def rows(journal: Path) -> dict[int, str]:
    """What the journal holds, by row, as it is written there."""
    found = stored(journal, TABLE)
    assert len({number for _, number, _ in found}) == len(found)
    return {number: text for _, number, text in found}


def timeless(folder: Path) -> list[Outcome]:
    return [replace(outcome, seconds=0.0) for outcome in read_attack(folder).outcomes]


def wait_for(process: subprocess.Popen[bytes], journal: Path, count: int) -> None:
    wait_until(process, lambda: len(rows(journal)) >= count)


@pytest.mark.full
def test_killed_three_times_it_ends_like_an_undisturbed_run(folder: Path) -> None:
    journal = folder / "killed/journal.sqlite"
    finished: dict[int, str] = {}
    for in_flight, count in ((4, 5), (2, 15), (7, 30)):
        process = started(folder, "killed", in_flight)
        wait_for(process, journal, count)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        before, finished = finished, rows(journal)
        assert count <= len(finished) < ROWS
        assert before.items() <= finished.items()
        assert not (folder / "killed/attack.json").exists()
    (folder / "asked.txt").unlink()
    last = started(folder, "killed", 3)
    assert last.wait(120) == 0
    asked = set((folder / "asked.txt").read_text().splitlines())
    done = {json.loads(result)["original"][0] for result in finished.values()}
    assert not done & asked, "a finished example was attacked again"
    final = rows(journal)
    assert len(final) == ROWS and finished.items() <= final.items()

    assert started(folder, "whole", 64).wait(120) == 0
    assert timeless(folder / "killed") == timeless(folder / "whole")
    killed, whole = (read_attack(folder / name).summary for name in ("killed", "whole"))
    for name in ("counts", "sacc", "racc", "asr", "queries", "forwards", "changed_share"):
        assert killed[name] == whole[name]
    assert killed["counts"]["success"] > 5 and killed["counts"]["failed"] > 5


@pytest.mark.full
def test_killed_against_a_randomised_victim_it_ends_like_an_undisturbed_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The noise belongs to the example and the seed, not to the process or the time."""

    def attacked(out: str, in_flight: int) -> list[Outcome]:
        attack(
            "victim.py:noisy",
            inputs=Inputs(data="examples.csv"),
            recipe={"name": "deepwordbug", "max_distance": 4},
            tools=Tools(validity=False),
            seed=5,
            in_flight=in_flight,
            out=out,
        )
        return timeless(folder / out)

    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    journal = folder / "killed/journal.sqlite"
    process = started(folder, "killed", 5, "noisy")
    wait_for(process, journal, 12)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    finished = rows(journal)
    assert 12 <= len(finished) < ROWS
    resumed = attacked("killed", 16)
    assert finished.items() <= rows(journal).items()
    assert len(rows(journal)) == ROWS
    assert resumed == attacked("whole", 64)
    successes = [one for one in resumed if one.status == "success"]
    assert len({one.fresh_successes for one in successes}) > 2, "the victim's noise is seen"


@pytest.mark.full
def test_interrupted_command_leaves_a_partial_report_and_code_130(folder: Path) -> None:
    process = started(folder, "out", 4)
    wait_for(process, folder / "out/journal.sqlite", 5)
    os.kill(process.pid, signal.SIGINT)
    _, message = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in message and b"same command" in message
    partial = read_attack(folder / "out")
    assert partial.about["complete"] is False
    assert 5 <= partial.summary["examples"] == len(partial.outcomes) < ROWS
