"""Files are whole or absent, whatever stops the writing, and whatever their names and contents hold."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from unfooled.errors import UserError
from unfooled.files import read_json, write_json, write_text


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
