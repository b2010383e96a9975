"""Reading files: cells and true line numbers."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unfooled.data.tables import read_table
from unfooled.data.tables.delimited import read_csv, read_tsv, unquote

RECORDS = [{"text": "good film", "label": "1"}, {"text": "bad, bad film", "label": "0"}]


def write(path: Path, kind: str) -> Path:
    path = path / f"data.{kind}"
    bare = kind.removesuffix(".gz")
    if bare == "parquet":
        import pandas as pd

        pd.DataFrame(RECORDS).to_parquet(path)
        return path
    text = {
        "csv": 'text,label\ngood film,1\n"bad, bad film",0\n',
        "tsv": "text\tlabel\ngood film\t1\nbad, bad film\t0\n",
        "jsonl": "\n".join(json.dumps(r) for r in RECORDS),
        "json": json.dumps(RECORDS, indent=1),
    }[bare]
    path.write_bytes(gzip.compress(text.encode()) if kind.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize(
    "kind", ["csv", "tsv", "jsonl", "json", "parquet", "csv.gz", "tsv.gz", "jsonl.gz", "json.gz"]
)
def test_every_format_gives_the_same_cells(tmp_path: Path, kind: str) -> None:
    table = read_table(write(tmp_path, kind))
    assert table.columns == ["text", "label"]
    assert [record for _, record in table.rows] == RECORDS


def test_line_numbers_are_right_after_multi_line_cells_and_blank_lines() -> None:
    table = read_csv("a.csv", 'text,label\n"one\ntwo\n\nthree",0\n\nfour,1\r\n"fi""ve",0')
    assert [(place, record["text"]) for place, record in table.rows] == [
        (2, "one\ntwo\n\nthree"),
        (7, "four"),
        (8, 'fi"ve'),
    ]


def test_json_lines_count_blank_lines_and_keep_unusual_line_separators() -> None:
    from unfooled.data.tables.json_files import read_jsonl

    table = read_jsonl("a.jsonl", '{"text": "a\u2028b\x85c"}\n\n{"text": "d"}\r\n')
    assert [(place, record["text"]) for place, record in table.rows] == [(1, "a\u2028b\x85c"), (3, "d")]


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), min_size=1, max_size=8
    )
)
def test_csv_written_by_the_standard_library_is_read_back(texts: list[str]) -> None:
    import csv
    import io

    file = io.StringIO(newline="")
    writer = csv.writer(file, quoting=csv.QUOTE_ALL)
    writer.writerows([["text", "label"], *[[text, "0"] for text in texts]])
    table = read_csv("a.csv", file.getvalue())
    assert [record["text"] for _, record in table.rows] == texts


def test_quotes_in_tsv_are_plain_characters_unless_they_quote_a_cell() -> None:
    table = read_tsv("a.tsv", 'text\tlabel\n"so good\t1\nhe said "no"\t0\n"say ""yes"""\t1\n')
    assert [record["text"] for _, record in table.rows] == ['"so good', 'he said "no"', 'say "yes"']


def test_tsv_with_a_tab_inside_a_quoted_cell_follows_csv_rules() -> None:
    table = read_tsv("a.tsv", 'text\tlabel\n"a\tb\tc\nd"\t1\ne\t0\n')
    assert [(place, record["text"]) for place, record in table.rows] == [(2, "a\tb\tc\nd"), (4, "e")]


@pytest.mark.parametrize(
    ("cell", "content"), [('"a"', "a"), ('"a" b', '"a" b'), ('"', '"'), ('""', ""), ("a", "a")]
)
def test_only_cells_quoted_as_a_whole_are_unquoted(cell: str, content: str) -> None:
    assert unquote(cell) == content


def test_semicolons_separate_when_the_header_has_no_comma() -> None:
    assert read_csv("a.csv", "text;label\na, b;1\n").rows == [(2, {"text": "a, b", "label": "1"})]


def test_byte_order_mark_and_named_encoding_are_understood(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("text,label\ncafé,1\n".encode("utf-8-sig"))
    assert read_table(path).rows == [(2, {"text": "café", "label": "1"})]
    path.write_bytes("text,label\ncafé,1\n".encode("utf-16"))
    assert read_table(path, encoding="utf-16").rows == [(2, {"text": "café", "label": "1"})]


def test_a_cell_longer_than_the_csv_module_allows_by_default_is_read() -> None:
    assert len(read_csv("a.csv", "text,label\n" + "x" * 200_000 + ",1\n").rows[0][1]["text"]) == 200_000
