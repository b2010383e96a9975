"""Text from outside steers no terminal and runs in no spreadsheet."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

from commands import unfooled
from run_folders import MakeRun
from unfooled.benchmarks.result_tables import ranking_csv
from unfooled.cli.console import CleanConsole, print_json
from unfooled.records.export import export_outcomes
from unfooled.records.outcome import Outcome
from unfooled.untrusted import FORMULA, csv_text, printable

STEERING = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\r"


@given(st.lists(st.text(), min_size=1, max_size=4))
def test_no_cell_of_a_csv_file_starts_like_a_formula(cells: list[str]) -> None:
    text = csv_text(["name"] * len(cells), [cells, [-1.5] * len(cells)])
    _, found, numbers = csv.reader(io.StringIO(text, newline=""))
    assert not any(cell.startswith(FORMULA) for cell in found)
    assert [cell.removeprefix("'") for cell in found] == [cell.removeprefix("'") for cell in cells]
    assert numbers == ["-1.5"] * len(cells)


@pytest.mark.parametrize("start", FORMULA)
def test_exported_outcomes_and_rankings_hold_no_formula(tmp_path: Path, start: str) -> None:
    hostile = f"{start}HYPERLINK(1)"
    outcome = Outcome(3, "refused", (hostile, hostile), 0, message=hostile)
    export_outcomes(tmp_path / "all.csv", {hostile: [outcome]}, [hostile])
    with (tmp_path / "all.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    run = {"status": "failed", "folder": hostile, "error": hostile}
    table = {
        "rows": [{"settings": {"sigma": -0.5, "kind": hostile}, "best": False, "status": "", "runs": [run]}]
    }
    (ranked,) = csv.DictReader(io.StringIO(ranking_csv(table), newline=""))
    quoted = [row[name] for name in ("recipe", "label", "text", "text_pair", "message")]
    quoted += [ranked[name] for name in ("kind", "folders", "errors")]
    assert quoted == [f"'{hostile}"] * 8
    assert ranked["sigma"] == "-0.5"


@given(st.text())
def test_printable_text_has_no_control_characters_and_stays_as_long(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable() and len(shown) == len(text)
    assert printable(shown) == shown


def test_nothing_that_is_shown_steers_the_terminal() -> None:
    console = CleanConsole(width=200)
    console.file = io.StringIO()
    table = Table(STEERING)
    table.add_row(f"label {STEERING}")
    for shown in (f"file {STEERING}", Text(f"run {STEERING}"), table, "[/] no markup [bold]"):
        console.print(shown)
    found = console.file.getvalue()
    assert all(line.isprintable() for line in found.split("\n"))
    assert "label �]0;owned" in found and "[/] no markup [bold]" in found


def test_json_spells_out_what_a_terminal_obeys(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"label": STEERING, "half": "\ud800", "word": "naïve 日本"})
    printed = capsys.readouterr().out.removesuffix("\n")
    assert printed.isprintable() and "naïve 日本" in printed
    assert json.loads(printed) == {"label": STEERING, "half": "\ud800", "word": "naïve 日本"}


def test_names_of_runs_and_files_are_cleaned_in_answers_and_errors(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run("run \x1b[31m[bold]")
    shown = unfooled("report", run, "--out", tmp_path / "page \x1b]0;owned\x07.html")
    assert shown.returncode == 0
    missing = unfooled("report", tmp_path / "none \x1b[31m[bold]")
    assert missing.returncode != 0
    for stream in (shown.stdout, shown.stderr, missing.stdout, missing.stderr):
        assert all(line.isprintable() for line in stream.decode().split("\n"))
    assert b"run \xef\xbf\xbd[31m[bold]" in shown.stdout
