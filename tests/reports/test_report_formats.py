"""The tables in other formats: complete, and safe to open whatever the names are."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import unfooled
from run_folders import MakeRun, write_everything
from unfooled.api.report import report
from unfooled.cli.commands import app
from unfooled.errors import UsageError
from unfooled.reports import write_tables
from unfooled.reports.formats import escaped_latex
from unfooled.reports.tables import Column, Table, TableCell

HOSTILE = "=cmd|' /C calc'!A0 & 100 % of $x_1$ {#} ~^\\ <b>\"\nnew"
TABLE = Table(
    "small",
    "A caption with 95 % | intervals",
    [Column("Model", numeric=False), Column("Rate")],
    [
        [TableCell(HOSTILE, HOSTILE), TableCell(0.25, "25.0 %", "20.0–30.0 %", low=0.2, high=0.3, n=80)],
        [TableCell("plain", "plain"), TableCell(None, "–")],
    ],
)


def test_markdown_has_one_line_a_row_and_no_html() -> None:
    text = write_tables([TABLE], "md", title="t")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 4
    assert "<b>" not in text.replace("\\<b\\>", "")
    assert r"\|" in rows[2]
    assert "25.0 % (20.0–30.0 %)" in rows[2]


def test_csv_has_one_number_a_line_and_no_formula() -> None:
    rows = list(csv.DictReader(io.StringIO(write_tables([TABLE], "csv", title="t"))))
    assert len(rows) == 1
    assert rows[0]["name"].startswith("'=cmd")
    assert [float(rows[0][key]) for key in ("value", "low", "high", "n")] == [0.25, 0.2, 0.3, 80]


def test_json_keeps_values_and_intervals() -> None:
    (table,) = json.loads(write_tables([TABLE], "json", title="t"))["tables"]
    assert table["rows"][0][1] == {
        "value": 0.25,
        "text": "25.0 %",
        "low": 0.2,
        "high": 0.3,
        "n": 80,
        "note": "20.0–30.0 %",
    }
    assert table["rows"][1][1]["value"] is None


def test_latex_is_booktabs_and_escaped() -> None:
    text = write_tables([TABLE], "latex", title="t")
    for part in (r"\toprule", r"\midrule", r"\bottomrule", r"\begin{tabular}{lr}"):
        assert part in text
    assert text.count(r"\\" + "\n") == 3
    assert escaped_latex("50 % & x_1") == r"50 \% \& x\_1"
    row = next(line for line in text.splitlines() if "cmd" in line)
    bare = row
    for command in (
        r"\&",
        r"\%",
        r"\$",
        r"\#",
        r"\_",
        r"\{",
        r"\}",
        r"\textbackslash{}",
        r"\textasciitilde{}",
    ):
        bare = bare.replace(command, "")
    for command in (
        r"\textasciicircum{}",
        r"\textless{}",
        r"\textgreater{}",
        r"\textbar{}",
        r"\textquotedbl{}",
    ):
        bare = bare.replace(command, "")
    bare = bare.removesuffix(r"\\").replace(" & ", "")
    assert not set(bare) & set("\\&%$#_{}")


@pytest.mark.parametrize("format", ["md", "csv", "json", "latex"])
def test_command_writes_every_format(tmp_path: Path, format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = write_everything(tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["report", str(run), "--format", format])
    assert result.exit_code == 0, result.output
    suffix = "tex" if format == "latex" else format
    text = (tmp_path / f"report.{suffix}").read_text(encoding="utf-8")
    for name in ("textfooler", "antonym"):
        assert name in text


def test_python_call_writes_the_same_as_the_command(make_run: MakeRun, tmp_path: Path) -> None:
    run, out = make_run(), tmp_path / "a.md"
    made = unfooled.report(run, out=out, format="md")
    assert made.path == out
    assert made.runs[0]["accuracy"] == 0.837
    result = CliRunner().invoke(app, ["report", str(run), "--format", "md", "--out", str(tmp_path / "b.md")])
    assert result.exit_code == 0
    assert out.read_text() == (tmp_path / "b.md").read_text()


@pytest.mark.parametrize(
    ("out", "format", "words"),
    [
        ("report.html", "md", "ends in .md"),
        ("report.md", "html", "ends in .html"),
        ("report.pdf", "pdf", "no format 'pdf'"),
    ],
)
def test_name_must_fit_the_format(
    make_run: MakeRun, tmp_path: Path, out: str, format: str, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        report(make_run(), out=tmp_path / out, format=format)
    assert not (tmp_path / out).exists()


def test_report_never_replaces_what_it_is_about(make_run: MakeRun, tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    path.write_text("precious")
    with pytest.raises(UsageError, match="one of the files to report about"):
        report(make_run(), path, out=path, format="csv")
    assert path.read_text() == "precious"
