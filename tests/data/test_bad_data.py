"""Bad data names the file, the row as the user sees it, and the remedy."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from unfooled.data import load_files, read_rows
from unfooled.errors import DataError, UsageError

GOOD = "".join(f"film number {i},{i % 2}\n" for i in range(20))
HEAD = "text,label\n"


def lines(*extra: object) -> str:
    good = [{"text": f"film number {i}", "label": i % 2} for i in range(20)]
    return "\n".join(record if isinstance(record, str) else json.dumps(record) for record in (*good, *extra))


CASES: dict[str, tuple[str, str | bytes, dict, list[str]]] = {
    "missing column": (
        "a.csv",
        HEAD + GOOD,
        {"text_column": "txt"},
        ["'txt'", "Did you mean 'text'?", "'label'", "--text-column"],
    ),
    "missing label column": ("a.csv", HEAD + GOOD, {"label_column": "stars"}, ["'stars'", "--label-column"]),
    "no column fits": ("a.csv", "a,b,label\n1,2,0\n", {}, ["'a', 'b', 'label'", "--text-column"]),
    "two columns fit": ("a.csv", "text,review,label\n1,2,0\n", {}, ["'text', 'review'", "--text-column"]),
    "column twice": ("a.csv", "text,text,label\n1,2,0\n", {}, ["line 1", "'text'", "Rename"]),
    "empty file": ("a.csv", "", {}, ["empty", "written completely"]),
    "white space only": ("a.jsonl", "\n \n", {}, ["empty"]),
    "header only": ("a.csv", HEAD, {}, ["no data rows", "written completely"]),
    "empty json array": ("a.json", "[]", {}, ["no data rows"]),
    "missing label": (
        "a.csv",
        HEAD + GOOD + "film,\n",
        {},
        ["line 22", "'label'", "missing", "remove the row"],
    ),
    "nan label": ("a.jsonl", lines('{"text": "film", "label": NaN}'), {}, ["line 21", "missing"]),
    "fractional label": ("a.jsonl", lines({"text": "film", "label": 2.5}), {}, ["line 21", "2.5", "bin"]),
    "list label": (
        "a.jsonl",
        lines({"text": "film", "label": [1]}),
        {},
        ["line 21", "[1]", "one string or integer"],
    ),
    "row without the column": ("a.jsonl", lines({"label": 1}), {}, ["line 21", "'text'", "missing"]),
    "number as text": (
        "a.jsonl",
        lines({"text": 12.5, "label": 1}),
        {},
        ["line 21", "a number (12.5)", "--text-column"],
    ),
    "none as text": ("a.jsonl", lines({"text": None, "label": 1}), {}, ["line 21", "missing"]),
    "list as text": ("a.jsonl", lines({"text": ["a"], "label": 1}), {}, ["line 21", "a list"]),
    "half a character": (
        "a.jsonl",
        lines('{"text": "a\\ud83d", "label": 1}'),
        {},
        ["line 21", "surrogate", "Repair"],
    ),
    "empty text": ("a.csv", HEAD + GOOD + '"  ",1\n', {}, ["line 22", "'text'", "empty", "remove the row"]),
    "empty text after a cell of three lines": (
        "a.csv",
        HEAD + '"a\nb\nc",1\n' + ",0\n" + GOOD,
        {},
        ["line 5", "empty"],
    ),
    "several empty texts": ("a.csv", HEAD + ",0\n" + GOOD + ",1\n,1\n", {}, ["line 2", "2 more such rows"]),
    "latin-1 bytes": (
        "a.csv",
        (HEAD + GOOD + "caf\xe9,1\n").encode("latin-1"),
        {},
        ["line 22", "0xe9", "offset 344", "--encoding latin-1"],
    ),
    "utf-16 bytes": ("a.csv", (HEAD + GOOD).encode("utf-16"), {}, ["--encoding utf-16"]),
    "nul": ("a.csv", HEAD + "fi\0lm,1\n" + GOOD, {}, ["line 2", "NUL", "--encoding utf-16"]),
    "malformed json line": (
        "a.jsonl",
        lines('{"text": "film", "label": }'),
        {},
        ["line 21", "column 27", "not valid JSON", "one object"],
    ),
    "json line that is no object": ("a.jsonl", lines('["film", 1]'), {}, ["line 21", "list", "object"]),
    "malformed json array": (
        "a.json",
        '[{"text": "a",\n"label": 1},\n{"text" "b"}]',
        {},
        ["line 3", "not valid JSON", "array"],
    ),
    "json item with an empty text": (
        "a.json",
        '[{"text": "a", "label": 1},\n{"text": "", "label": 0}]',
        {},
        ["item 2", "empty"],
    ),
    "deeply nested json": ("a.jsonl", "[" * 200_000, {}, ["line 1", "not valid JSON"]),
    "row too long": (
        "a.csv",
        HEAD + GOOD + "bad, bad film,0\n",
        {},
        ["line 22", "3 cells", "has 2", "quotes"],
    ),
    "row too short": ("a.csv", HEAD + '"a\nb",1\n' + "film\n", {}, ["line 4", "1 cell,"]),
    "unclosed quote": (
        "a.csv",
        HEAD + GOOD + '"film,1\nnext,0\n',
        {},
        ["line 22", "quotes do not match", "twice"],
    ),
    "one class": ("a.csv", HEAD + "a,1\nb,1\nc,1\n", {}, ["'1'", "two classes", "--label-column"]),
    "class too small": (
        "a.csv",
        HEAD + GOOD + "film,2\n",
        {},
        ["'2'", "too few training rows", "1, and 3 are needed", "Add rows"],
    ),
    "label column of ids": (
        "a.csv",
        "text,id\n" + "".join(f"a{i},{i}\n" for i in range(50)),
        {"label_column": "id"},
        ["50 different values", "--label-column"],
    ),
    "label not among the given": (
        "a.csv",
        HEAD + GOOD,
        {"labels": ["neg", "pos", "x"]},
        ["no row has the label 'x'", "--labels"],
    ),
    "unknown string label": (
        "a.csv",
        "text,label\na,pos\nb,negg\n",
        {"labels": ["neg", "pos"]},
        ["line 3", "'negg'", "Did you mean 'neg'?"],
    ),
    "unsupported suffix": ("a.xlsx", "x", {}, ["files ending in .xlsx", ".csv", ".parquet"]),
    "no suffix": ("a", "x", {}, ["files without an ending", ".csv"]),
    "gzip that is none": ("a.csv.gz", HEAD + GOOD, {}, ["gzip", "Compress it again"]),
    "gzip cut short": ("a.csv.gz", gzip.compress((HEAD + GOOD).encode())[:-12], {}, ["gzip"]),
    "parquet that is none": ("a.parquet", "PAR1 but no more", {}, ["Parquet"]),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_file_names_file_row_and_remedy(tmp_path: Path, case: str) -> None:
    name, content, settings, expected = CASES[case]
    path = tmp_path / name
    path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    with pytest.raises(DataError) as error:
        load_files(path, **settings)
    message = str(error.value)
    assert name in message
    assert "\n" not in message
    for part in expected:
        assert part in message


@pytest.mark.parametrize("which", ["dev", "test"])
def test_unknown_label_outside_train_names_its_file_and_row(
    tmp_path: Path, reviews: Path, which: str
) -> None:
    other = tmp_path / "other.tsv"
    other.write_text("text\tlabel\nfine\t1\nodd\t7\nodder\t8\n")
    with pytest.raises(DataError, match=r"other\.tsv, line 3: unknown label '7'.*'0', '1'.*1 more such row"):
        load_files(reviews, **{which: other})


def test_dev_file_without_the_columns_of_train_is_named(tmp_path: Path, reviews: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("texts,label\nfine,1\n")
    with pytest.raises(DataError, match=r"other\.csv: there is no column 'text'.*Did you mean 'texts'"):
        load_files(reviews, dev=other)


def test_missing_file_and_folder_are_told_apart(tmp_path: Path, reviews: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere\.csv: no such file"):
        load_files(tmp_path / "nowhere.csv")
    with pytest.raises(DataError, match=r"this is a folder.*reviews\.csv"):
        load_files(tmp_path)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_file_without_permission_is_named(reviews: Path) -> None:
    reviews.chmod(0)
    with pytest.raises(DataError, match=r"reviews\.csv: cannot be read .*permission"):
        load_files(reviews)


def test_unknown_encoding_is_a_usage_error(reviews: Path) -> None:
    with pytest.raises(UsageError, match="latin-1"):
        load_files(reviews, encoding="klingon")


def test_texts_to_predict_must_be_text(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text('{"text": "a"}\n{"text": 3}\n')
    with pytest.raises(DataError, match=r"in\.jsonl, line 2: the 'text' cell is a number"):
        read_rows(path)
