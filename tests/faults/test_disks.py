"""Full and read-only disks: every command says where, why and what to do, and goes on when that is done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from disks import protect, resize, small_disk

import unfooled as uf
from commands import Shown, unfooled
from tiny_plans import write_plan_inputs

ROOM = "40m"
TOO_SMALL = {"train": "150k", "attack": "24k", "certify": "24k", "predict": "8k", "report": "24k"}
TOO_SMALL |= {"benchmark": "24k"}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A plan file ``plan``, the options of a training ``train``, a finished ``run``."""
    folder = tmp_path_factory.mktemp("inputs")
    plan = write_plan_inputs(folder)
    for part in ("attacks", "certificates", "repeat", "representations"):
        del plan[part]
    plan["defences"] = ["standard"]
    (folder / "plan.yaml").write_text(yaml.safe_dump(plan))
    own = plan["train"] | {name: value for name, value in plan["tasks"][0].items() if name != "name"}
    (folder / "train.yaml").write_text(yaml.safe_dump(own))
    uf.train(folder / "run", defence="random-mask", **own)
    (folder / "texts.csv").write_text("review\n" + "the film is fine\n" * 200)
    return {
        "texts": folder / "texts.csv",
        "plan": folder / "plan.yaml",
        "train": folder / "train.yaml",
        "run": folder / "run",
    }


def called(command: str, inputs: dict[str, Any], disk: Path) -> Shown:
    """The command with results on the disk."""
    arguments = {
        "train": ["--config", inputs["train"], "--out", disk / "out"],
        "attack": [
            inputs["run"],
            "--recipe",
            "deepwordbug",
            "--no-validity",
            "--limit",
            4,
            "--out",
            disk / "out",
        ],
        "certify": [
            inputs["run"],
            "--threat",
            "words",
            "--limit",
            3,
            "--n",
            40,
            "--no-antonyms",
            "--out",
            disk / "out",
        ],
        "report": [inputs["run"], "--out", disk / "out/report.html"],
        "predict": [inputs["run"], "--file", inputs["texts"], "--out", disk / "out/answers.csv"],
        "benchmark": [inputs["plan"], "--out", disk / "out"],
    }
    return unfooled(command, *arguments[command])


def said(shown: Shown, disk: Path) -> str:
    """The message, which is one of ours."""
    text = (shown.stderr + shown.stdout).decode()  # a benchmark lists what failed on stdout
    assert shown.returncode == 1, text
    assert "Traceback" not in text
    assert f"Cannot write {disk}/out" in text and "run the same command again" in text
    assert not any(word in text.lower() for word in ("delete", "remove"))
    return text


@pytest.mark.full
@pytest.mark.parametrize("command", TOO_SMALL)
def test_a_full_disk_is_told_and_with_room_the_same_command_ends(
    command: str, inputs: dict[str, Any], tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk", TOO_SMALL[command]) as disk:
        text = said(called(command, inputs, disk), disk)
        assert "No space left on device" in text and "Make room on the disk of" in text
        resize(disk, ROOM)
        again = called(command, inputs, disk)
        assert again.returncode == 0, again.stderr.decode()


@pytest.mark.full
@pytest.mark.parametrize("command", TOO_SMALL)
def test_a_folder_that_cannot_be_written_is_told_and_when_it_can_the_same_command_ends(
    command: str, inputs: dict[str, Any], tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk", ROOM) as disk:
        protect(disk)
        text = said(called(command, inputs, disk), disk)
        assert "Read-only file system" in text and f"Allow writing in {disk}" in text
        protect(disk, writable=True)
        again = called(command, inputs, disk)
        assert again.returncode == 0, again.stderr.decode()


@pytest.mark.full
@pytest.mark.parametrize("command", TOO_SMALL)
def test_a_file_in_the_place_of_a_folder_is_told_and_stays(
    command: str, inputs: dict[str, Any], tmp_path: Path
) -> None:
    """Needs no mount: works for every user."""
    (tmp_path / "out").write_text("precious")
    shown = called(command, inputs, tmp_path)
    assert shown.returncode in (1, 2) and b"Traceback" not in shown.stderr
    assert str(tmp_path / "out").encode() in shown.stderr
    assert (tmp_path / "out").read_text() == "precious"
