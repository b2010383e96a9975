"""Results that TextAttack logged: read, counted as TextAttack counts, shown, and refused where damaged."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from run_folders import MakeRun
from unfooled.cli.commands import app
from unfooled.errors import DataError, UserError
from unfooled.records.evidence import Evidence
from unfooled.reports import render
from unfooled.statistics.intervals import wilson
from unfooled.storage.textattack_csv import COLUMNS, read_textattack_csv

# Rows as TextAttack 0.3.11 logs them: 2 successful, 1 failed, 1 skipped; so original accuracy 75 %, accuracy
# under attack 25 %, success rate 66.67 %, 81.33 queries.
LOGGED = """\
"original_text","perturbed_text","original_score","perturbed_score","original_output","perturbed_output",\
"ground_truth_output","num_queries","result_type"
"a gorgeous , witty , seductive [[movie]] .","a gorgeous , witty , seductive [[pic]] .",\
0.01071678025851519,0.010946100247856139,1,1,1,13,"Failed"
"the plot is [[dull]] , [[flat]] and never [[moving]] .",\
"the plot is [[blunt]] , [[unconditional]] and never [[displace]] .",\
0.015818577554422952,0.9583379019359338,0,1,0,151,"Successful"
"an [[awful]] film with a lovely ending","an [[frightfully]] film with a lovely ending",\
0.020312995323926053,0.9896962375369007,0,1,0,80,"Successful"
"a wonderful story","a wonderful story",0.9880345730604628,0.9880345730604628,1,1,0,1,"Skipped"
"""
PAIRS = """\
"original_text","perturbed_text","original_score","perturbed_score","original_output","perturbed_output",\
"ground_truth_output","num_queries","result_type"
"[[[[Premise]]]]: a [[film]]<SPLIT>of note<SPLIT>[[[[Hypothesis]]]]: it is a ""good"" thing",\
"[[[[Premise]]]]: a [[ficm]]<SPLIT>of note<SPLIT>[[[[Hypothesis]]]]: it is a ""good"" thing",\
0.09999999999999998,0.8,0,1,0,10,"Successful"
"""


def written(path: Path, *changes: dict[str, Any]) -> Path:
    """A file of one good row for each set of changes."""
    good = dict(
        zip(COLUMNS, ["a [[good]] film", "a [[fine]] film", 0.1, 0.9, 1, 0, 1, 12, "Successful"], strict=True)
    )
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, quoting=csv.QUOTE_NONNUMERIC)
        writer.writeheader()
        writer.writerows(good | change for change in changes)
    return path


@pytest.fixture
def logged(tmp_path: Path) -> Path:
    path = tmp_path / "results.csv"
    path.write_text(LOGGED, encoding="utf-8")
    return path


def test_rates_are_those_textattack_reports_with_intervals(logged: Path) -> None:
    summary = read_textattack_csv(logged).summary()
    assert (summary["successful"], summary["failed"], summary["skipped"]) == (2, 1, 1)
    assert summary["sacc"] == {"value": 0.75, "count": 3, "n": 4, "interval": list(wilson(3, 4))}
    assert summary["racc"] == {"value": 0.25, "count": 1, "n": 4, "interval": list(wilson(1, 4))}
    assert summary["asr"] == {"value": 2 / 3, "count": 2, "n": 3, "interval": list(wilson(2, 3))}
    assert summary["avg_queries"] == pytest.approx(81.33, abs=0.01)


def test_marks_are_taken_off_and_the_changed_words_found(logged: Path) -> None:
    row = read_textattack_csv(logged).rows[1]
    assert row.original == ("the plot is dull , flat and never moving .",)
    assert row.perturbed == ("the plot is blunt , unconditional and never displace .",)
    changed = [(edit.before, edit.after) for edit in row.edits]
    assert changed == [("dull", "blunt"), ("flat", "unconditional"), ("moving", "displace")]
    for edit in row.edits:
        assert row.original[0][slice(*edit.original_place[1:])] == edit.before
        assert row.perturbed[0][slice(*edit.perturbed_place[1:])] == edit.after


def test_pairs_and_line_breaks_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text(PAIRS, encoding="utf-8")
    (row,) = read_textattack_csv(path).rows
    assert row.original == ("a film\nof note", 'it is a "good" thing')
    assert row.perturbed == ("a ficm\nof note", 'it is a "good" thing')
    assert [(edit.before, edit.after, edit.original_place) for edit in row.edits] == [
        ("film", "ficm", (0, 2, 6))
    ]


@pytest.mark.parametrize(
    ("before", "after", "edits"),
    [
        ("a [[very]] good film", "a good film", [("very", "")]),
        ("a good film", "a [[very]] good film", [("", "very")]),
        ("a good film", "a good film [[indeed]]", [("", "indeed")]),
        (
            "a <font color = red>good</font> film",
            "a <font color = green>fine</font> film",
            [("good", "fine")],
        ),
        ("a good film", "a fine film", [("good", "fine")]),
        ("[[it's]] good", "[[its]] good", [("it's", "its")]),
        ("[[dull]] [[plot]]", "[[blunt]] [[tale]]", [("dull", "blunt"), ("plot", "tale")]),
        ("[[so]] very good", "very good [[indeed]]", [("so", ""), ("", "indeed")]),
    ],
)
def test_insertions_deletions_html_marks_and_unmarked_texts(
    tmp_path: Path, before: str, after: str, edits: list[tuple[str, str]]
) -> None:
    path = written(tmp_path / "r.csv", {"original_text": before, "perturbed_text": after})
    (row,) = read_textattack_csv(path).rows
    assert [(edit.before, edit.after) for edit in row.edits] == edits
    assert "[[" not in row.original[0] + row.perturbed[0]


def test_inputs_that_are_all_skipped_have_no_success_rate(tmp_path: Path) -> None:
    skipped = {"original_output": 0, "result_type": "Skipped", "num_queries": 1}
    results = read_textattack_csv(written(tmp_path / "r.csv", skipped, skipped))
    summary = results.summary()
    assert summary["asr"]["value"] is None
    assert summary["avg_queries"] is None
    assert summary["sacc"]["value"] == 0
    assert "–" in render(Evidence((), textattack=(results,)))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"result_type": "Won"}, "row 2: the result_type is 'Won'"),
        ({"result_type": "Maximized"}, "row 2: 'Maximized'"),
        ({"num_queries": "many"}, "row 2: num_queries is 'many'"),
        ({"num_queries": -1}, "row 2: num_queries"),
        ({"num_queries": 1.5}, "row 2: num_queries"),
        ({"original_score": ""}, "row 2: the scores"),
        ({"perturbed_score": float("nan")}, "row 2: the scores"),
        ({"original_output": 0}, "row 2: it is Successful although .* wrong"),
        ({"result_type": "Skipped"}, "row 2: it is Skipped although .* right"),
    ],
)
def test_bad_row_is_refused_by_number_with_a_remedy(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    path = written(tmp_path / "r.csv", {}, change)
    with pytest.raises(DataError, match=words) as caught:
        read_textattack_csv(path)
    assert str(path) in str(caught.value)
    assert "--log-to-csv" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no column 'original_text'"),
        (b"\n", "no column 'original_text'"),
        (b"text,label\nfine,1\n", "no column 'original_text'"),
        (LOGGED.split("\n")[0].encode() + b"\n", "has no rows"),
        (LOGGED[:-30].encode(), "row 4|line"),
        (LOGGED[:-80].encode(), "row 4|line"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (LOGGED.encode() + b'"a","b"\n', "row 5: it has more or fewer fields"),
    ],
)
def test_file_that_is_not_whole_is_refused_by_name(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "r.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=words) as caught:
        read_textattack_csv(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("end", ["", "[[more]]"])
def test_very_long_text_is_read_and_leaves_the_csv_limit_alone(tmp_path: Path, end: str) -> None:
    limit = csv.field_size_limit()
    long = "word " * 60_000
    change = {"original_text": f"[[A]] {long}last", "perturbed_text": f"[[The]] {long}{end}last"}
    (row,) = read_textattack_csv(written(tmp_path / "r.csv", change)).rows
    assert row.original == (f"A {long}last",)
    assert row.edits[0].before.startswith("A")
    assert row.edits[0].after.startswith("The")
    assert csv.field_size_limit() == limit


@pytest.mark.full
def test_report_of_a_csv_alone_shows_its_table(logged: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    result = CliRunner().invoke(app, ["report", str(logged), "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "2 of 3 attacked inputs" in " ".join(result.stdout.split())
    page = out.read_text(encoding="utf-8")
    assert 'id="textattack"' in page
    for number in ("75.0", "25.0", "66.7", "81.3"):
        assert number in page
    assert "<mark>dull</mark>" in page
    assert "<mark>blunt</mark>" in page
    assert "[[" not in page
    assert 'id="verdict"' not in page


def test_report_shows_runs_and_csv_together_and_names_both_in_its_command(
    logged: Path, make_run: MakeRun, tmp_path: Path
) -> None:
    out = tmp_path / "report.html"
    run = make_run()
    result = CliRunner().invoke(app, ["report", str(run), str(logged), "--out", str(out), "--json"])
    said = json.loads(result.stdout)
    assert said["textattack"][0]["asr"]["count"] == 2
    assert said["runs"][0]["accuracy"] == 0.837
    page = out.read_text(encoding="utf-8")
    assert f"unfooled report {run} {logged}" in page
    assert "No attack was run" not in page


def test_page_without_csv_says_nothing_of_textattack(make_run: MakeRun, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    result = CliRunner().invoke(app, ["report", str(make_run()), "--out", str(out), "--json"])
    assert "textattack" not in json.loads(result.stdout)
    page = out.read_text(encoding="utf-8")
    assert "TextAttack" not in page
    assert "No attack was run" in page


def test_text_from_the_file_is_never_markup(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script> & <b>"
    path = written(
        tmp_path / "<img src=x>.csv",
        {"original_text": f"{hostile} [[good]]", "perturbed_text": f"{hostile} [[<i>bad]]"},
        {"perturbed_output": "<u>0</u>"},
    )
    page = render(Evidence((), textattack=(read_textattack_csv(path),)), script=False)
    for tag in ("<script>", "<img", "<b>", "<i>", "<u>"):
        assert tag not in page
    assert "&lt;script&gt;" in page


def test_bad_csv_writes_no_report(tmp_path: Path, make_run: MakeRun) -> None:
    path, out = written(tmp_path / "r.csv", {"result_type": "?"}), tmp_path / "report.html"
    result = CliRunner().invoke(app, ["report", str(make_run()), str(path), "--out", str(out)])
    assert isinstance(result.exception, UserError)
    assert not out.exists()
