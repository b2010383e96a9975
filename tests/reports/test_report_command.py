"""``unfooled report``: the file it writes, its JSON, and folders that cannot be reported."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from run_folders import MakeRun, prediction
from unfooled.cli.commands import app
from unfooled.errors import UsageError, UserError
from unfooled.storage.run_files import read_run


def test_command_writes_one_page_and_says_so_in_json(make_run: MakeRun, tmp_path: Path) -> None:
    out = tmp_path / "new" / "report.html"
    result = CliRunner().invoke(app, ["report", str(make_run()), "--out", str(out), "--json"])
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    assert said["report"] == str(out)
    assert said["runs"][0]["accuracy"] == 0.837
    assert "83.7" in out.read_text(encoding="utf-8")
    assert [path.name for path in out.parent.iterdir()] == ["report.html"]


def test_folder_named_twice_is_shown_once(make_run: MakeRun, tmp_path: Path) -> None:
    runs = [make_run("b"), make_run("a")]
    arguments = [
        "report",
        str(runs[0]),
        str(runs[1]),
        f"{runs[0]}/",
        "--out",
        str(tmp_path / "r.html"),
        "--json",
    ]
    result = CliRunner().invoke(app, arguments)
    assert [run["name"] for run in json.loads(result.stdout)["runs"]] == ["b", "a"]


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda f: f.rename(f.with_name("gone")), "does not exist"),
        (lambda f: (f / "unfooled.json").unlink(), "not finished"),
        (lambda f: ((f / "unfooled.json").unlink(), (f / "config.yaml").unlink()), "is not a run"),
        (lambda f: (f / "metrics.json").unlink(), "no metrics.json"),
        (lambda f: (f / "metrics.json").write_text('{"test": {'), r"metrics\.json is not valid JSON"),
        (lambda f: (f / "metrics.json").write_text("{}"), r"metrics\.json: train is missing"),
        (lambda f: (f / "metrics.json").write_text("[1]"), r"metrics\.json must hold names and values"),
        (lambda f: (f / "metrics.json").write_bytes(b"\xff\xfe"), r"metrics\.json is not UTF-8"),
        (lambda f: (f / "unfooled.json").write_text("null"), r"unfooled\.json must hold names and values"),
        (
            lambda f: (f / "history.json").write_text('[{"loss": 1}]'),
            r"history\.json: \[0\]: epoch must be a number",
        ),
        (lambda f: (f / "predictions.jsonl").write_text('{"text": "a", "label": "b"}\n{"te'), "line 2"),
        (lambda f: (f / "predictions.jsonl").write_text('{"text": "a"}\n'), "line 1: label is missing"),
    ],
)
def test_bad_folder_is_refused_by_name_and_nothing_is_written(
    make_run: MakeRun, tmp_path: Path, damage: object, words: str
) -> None:
    folder = make_run(predictions=[prediction("fine", "positive")])
    damage(folder)  # type: ignore[operator]
    with pytest.raises(UserError, match=words) as caught:
        read_run(folder)
    assert str(folder) in str(caught.value)
    out = tmp_path / "report.html"
    result = CliRunner().invoke(app, ["report", str(make_run("good")), str(folder), "--out", str(out)])
    assert isinstance(result.exception, UserError)
    assert not out.exists()


@pytest.mark.parametrize(
    "test",
    [
        {"confusion": [[1, 2]]},
        {"labels": []},
        {"accuracy": 0.1},
        {"accuracy_interval": [0.5]},
        {"examples": 0},
        {"accuracy": "high"},
    ],
)
def test_numbers_that_do_not_fit_together_are_damage(make_run: MakeRun, test: dict[str, object]) -> None:
    with pytest.raises(UserError, match=r"metrics\.json: test: .*train again"):
        read_run(make_run(test=test))


def test_file_in_place_of_a_folder_is_refused(make_run: MakeRun) -> None:
    with pytest.raises(UserError, match="is a file"):
        read_run(make_run() / "metrics.json")


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("x.tex", "% "),
        ("x.md", "# "),
        ("x.csv", "table,row"),
        ("x.json", '{\n  "title"'),
        ("x.HTML", "<!doctype"),
    ],
)
def test_the_ending_of_out_says_the_format(make_run: MakeRun, tmp_path: Path, name: str, begins: str) -> None:
    result = CliRunner().invoke(app, ["report", str(make_run()), "--out", str(tmp_path / name)])
    assert result.exit_code == 0, result.output
    assert (tmp_path / name).read_text(encoding="utf-8").lower().startswith(begins.lower())
    wrong = CliRunner().invoke(
        app, ["report", str(tmp_path / "plain"), "--format", "csv", "--out", str(tmp_path / "x.tex")]
    )
    assert isinstance(wrong.exception, UsageError)


@pytest.mark.parametrize("name", ["", "metrics.json", "report", "x.docx"])
def test_out_must_be_a_file_of_a_known_format_and_none_of_the_run(make_run: MakeRun, name: str) -> None:
    folder = make_run()
    before = (folder / "metrics.json").read_text()
    result = CliRunner().invoke(app, ["report", str(folder), "--out", str(folder / name)])
    assert isinstance(result.exception, UsageError)
    assert (folder / "metrics.json").read_text() == before


def test_error_reaches_the_user_without_a_traceback(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from unfooled.cli import main; main()", "report", str(tmp_path / "no")]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 1
    assert "does not exist" in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "report.html").exists()
