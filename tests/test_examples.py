"""The scripts under ``examples/`` run and show what they promise."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from tiny_runs import write_encoder, write_reviews

EXAMPLES = Path(__file__).parents[1] / "examples"
pytestmark = pytest.mark.full


def shown(
    name: str, *arguments: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str:
    """What a script prints."""
    monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return capsys.readouterr().out


def test_every_script_is_run_by_a_test() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {
        "any_classifier.py",
        "endpoint.py",  # tests/attacks
        "images.py",
        "own_data.py",
    }


def test_own_data_are_trained_attacked_certified_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_reviews(tmp_path / "reviews.csv")
    columns = ["--text-column", "review", "--label-column", "stars"]
    small = ["--encoder", write_encoder(tmp_path / "encoder"), "--lr", 3e-3, "--limit", 6]
    printed = shown(
        "own_data.py",
        data,
        *columns,
        *small,
        "--out",
        tmp_path / "own",
        monkeypatch=monkeypatch,
        capsys=capsys,
    )
    assert (tmp_path / "own/report.html").is_file()
    assert "deepwordbug" in printed and "edits" in printed


def test_any_function_is_attacked_and_its_majority_certified(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = shown("any_classifier.py", "--n", 300, monkeypatch=monkeypatch, capsys=capsys)
    assert "spam — free prize" in printed and "ham — shall we" in printed
    assert "answers «spam» for this text and for every text made from it by at most 1 edit" in printed


def test_images_are_certified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = ["--epochs", 4, "--limit", 6, "--n", 100]
    printed = shown("images.py", *small, "--out", tmp_path / "run", monkeypatch=monkeypatch, capsys=capsys)
    assert "Euclidean distance" in printed
