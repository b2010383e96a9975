"""Files are whole or absent, whatever stops the writing, and whatever their names and contents hold."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, TypedDict

import pytest

from unfooled.errors import UsageError, UserError
from unfooled.files import read_json, read_text, read_yaml, write_json, write_text


def test_nothing_is_left_behind_when_the_place_is_taken(tmp_path: Path) -> None:
    (tmp_path / "taken.csv").mkdir()
    with pytest.raises(UserError, match=r"Cannot write .*taken\.csv"):
        write_text(tmp_path / "taken.csv", "text")
    assert os.listdir(tmp_path) == ["taken.csv"]


@pytest.mark.parametrize("stopped", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_write_that_is_stopped_leaves_the_old_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stopped: BaseException
) -> None:
    def fail(_: Any) -> None:
        raise stopped

    write_text(tmp_path / "kept.txt", "old")
    monkeypatch.setattr("unfooled.files.os.fsync", fail)
    with pytest.raises((UserError, KeyboardInterrupt)):
        write_text(tmp_path / "kept.txt", "new")
    assert os.listdir(tmp_path) == ["kept.txt"]
    assert (tmp_path / "kept.txt").read_text() == "old"


def test_name_that_is_no_utf8_comes_back_from_json(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.csv")
    write_json(tmp_path / name, {"source": name, "other": "naïve"})
    assert read_json(tmp_path / name) == {"source": name, "other": "naïve"}
    assert b"caf\\udce9.csv" in (tmp_path / name).read_bytes()


class Votes(TypedDict):
    """A shape for these tests."""

    votes: int


class Answer(Votes, total=False):
    scores: dict[str, float]
    spans: list[tuple[int, int]]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"votes": "many"}', ": votes must be a whole number, got 'many'."),
        (b"{}", ": votes is missing."),
        (b"[]", " must hold names and values, got []."),
        (b'{"votes": 1, "scores": {"a": "x"}}', ": scores: a must be a number, got 'x'."),
        (b'{"votes": 1, "scores": {"a": "nan"}}', ": scores: a must be a finite number"),
        (b'{"votes": 1, "spans": [[1, 2], [3]]}', ": spans must be a list of 2 values, got [3]."),
        (b'{"votes": 1', " is not valid JSON"),
        (b"\xff\xfe", " is not UTF-8 text (byte 0)."),
    ],
)
def test_a_document_of_another_shape_is_refused_with_file_key_and_remedy(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    path = tmp_path / "answer.json"
    path.write_bytes(content)
    with pytest.raises(UserError) as refused:
        read_json(path, Answer)
    assert str(refused.value).startswith(f"{path}{reason}")
    assert "elete" not in str(refused.value)


def test_a_document_of_the_right_shape_keeps_what_the_shape_does_not_name(tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    write_json(path, {"votes": 3.0, "spans": [[1, 2]], "note": [None]})
    assert read_json(path, Answer) == {"votes": 3, "spans": [[1, 2]], "note": [None]}


def test_a_file_larger_than_its_limit_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    path.write_bytes(b" " * 101)
    with pytest.raises(UserError, match="larger than 100 bytes"):
        read_text(path, at_most=100)


@pytest.mark.parametrize("name", ["absent.json", "x" * 300, "a\0b"])
def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="Cannot read"):
        read_text(tmp_path / name)


def test_yaml_that_is_not_utf8_or_no_mapping_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    for content, reason in ((b"task: caf\xe9", "not UTF-8"), (b"[1]", "must hold names and values")):
        path.write_bytes(content)
        with pytest.raises(UsageError, match=rf"plan\.yaml.*{reason}"):
            read_yaml(path)
    path.write_bytes(b"# nothing\n")
    assert read_yaml(path) == {}
