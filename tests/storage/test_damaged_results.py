"""Results that were changed or cut short on disk: a message with the file, the key and the remedy."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commands import unfooled
from run_folders import write_everything
from unfooled.api.load import load
from unfooled.api.read_evidence import read_report_data
from unfooled.errors import UserError


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_everything(tmp_path / "run", examples=4)


def change(path: Path, *keys: str | int, value: Any) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    place = document
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    path.write_text(json.dumps(document), encoding="utf-8")


@pytest.mark.parametrize(
    ("file", "keys", "value", "told"),
    [
        ("unfooled.json", ("predictor", "name"), 3, "unfooled.json: predictor: name must be text, got 3."),
        ("unfooled.json", ("labels",), "ab", "unfooled.json: labels must be a list of text values"),
        ("metrics.json", ("test", "confusion"), [[1]], "the confusion matrix does not fit the labels"),
        ("metrics.json", ("test", "accuracy"), "high", "metrics.json: test: accuracy must be a number"),
        ("attacks/textfooler/attack.json", ("summary", "asr"), 0.5, "attack.json: summary: asr must hold"),
        ("attacks/textfooler/attack.json", ("journal",), {}, "attack.json: journal: list is missing."),
        (
            "certificates/l2/certificate.json",
            ("threat",),
            "l9",
            "threat: There is no threat",
        ),
        ("certificates/l2/certificate.json", ("summary", "curve", 0), 7, "summary: curve[0] must hold"),
        (
            "repeats/two-step/repeat.json",
            ("accuracy",),
            None,
            "accuracy must hold names and values",
        ),
        (
            "representations/all/representations.json",
            ("drift", 0, "l2"),
            [1.0],
            "drift[0] does not fit the 3 layers",
        ),
    ],
)
def test_a_changed_document_is_told_with_file_key_and_remedy(
    run: Path, file: str, keys: tuple[str | int, ...], value: Any, told: str
) -> None:
    change(run / file, *keys, value=value)
    with pytest.raises(UserError) as refused:
        read_report_data([run])
    message = str(refused.value)
    assert str(run / file) in message
    assert told in message
    assert message.endswith(("copy the folder again, or measure again.", "or train again."))


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (lambda row: {**row, "status": "odd"}, "status must be one of"),
        (lambda row: {**row, "queries": "many"}, "queries must be a whole number, got 'many'."),
        (lambda row: {**row, "changes": [{"word": 1}]}, "changes[0]: which is missing"),
        (lambda row: {key: row[key] for key in row if key != "original"}, "original is missing"),
        (lambda row: [], "must hold names and values"),
    ],
)
def test_a_damaged_row_of_a_journal_is_told_with_its_place(
    run: Path, changed: Callable[[Any], Any], told: str
) -> None:
    path = run / "attacks/textfooler/journal.sqlite"
    connection = sqlite3.connect(path)
    with connection:
        (result,) = connection.execute("SELECT result FROM outcomes WHERE number = 1").fetchone()
        made = json.dumps(changed(json.loads(result)))
        connection.execute("UPDATE outcomes SET result = ? WHERE number = 1", (made,))
    connection.close()
    with pytest.raises(UserError) as refused:
        read_report_data([run])
    assert f"{path}: result 1" in str(refused.value)
    assert told in str(refused.value)
    assert "copy the folder again, or choose another --out" in str(refused.value)


def test_votes_without_end_in_a_saved_run_are_refused_at_once(run: Path) -> None:
    change(run / "unfooled.json", "predictor", value={"name": "vote", "votes": 10**15})
    with pytest.raises(UserError, match=r"unfooled\.json: .*votes must be at most 100,000.*train again"):
        load(run, device="cpu")


@pytest.mark.parametrize("seed", ["-1", "5000000000", "1" + "0" * 40])
@pytest.mark.parametrize("command", ["attack", "repeat", "train"])
def test_commands_refuse_seeds_outside_the_range(run: Path, command: str, seed: str) -> None:
    place = ["--data", "x.csv"] if command == "train" else [str(run)]
    shown = unfooled(command, *place, "--seed", seed, cwd=run.parent)
    assert shown.returncode == 2
    assert b"seed must be at" in shown.stderr


@pytest.mark.parametrize(
    ("command", "seed"),
    [("certify", "-2"), ("certify", str(2**63)), ("predict", "-2"), ("predict", "5000000000")],
)
def test_minus_one_is_the_only_negative_seed(tmp_path: Path, command: str, seed: str) -> None:
    shown = unfooled(command, "no-run", "text", "--seed", seed, cwd=tmp_path)
    assert shown.returncode == 2
    assert b"--seed must be at" in shown.stderr


def test_a_name_that_is_too_long_to_look_up_is_refused(run: Path) -> None:
    shown = unfooled("represent", run, "--attack", "x" * 4000, cwd=run.parent)
    assert shown.returncode == 2 and b"too long" in shown.stderr, shown.stderr


@pytest.mark.parametrize("command", [("report", "{run}"), ("train", "--data", "x.csv")])
def test_a_name_that_is_too_long_is_refused(run: Path, command: tuple[str, ...]) -> None:
    words = [word.format(run=run) for word in command]
    shown = unfooled(*words, "--out", "x" * 300, cwd=run.parent)
    assert shown.returncode == 2
    assert b"too long" in shown.stderr


@pytest.mark.parametrize("device", ["meta", "xla", "cuda:x", "cpu:99999", ""])
def test_devices_that_do_not_compute_are_refused(device: str) -> None:
    from unfooled.hub.devices import device_named

    with pytest.raises(UserError, match="device must be auto, cpu, cuda"):
        device_named(device)
