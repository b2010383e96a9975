"""The journal: what was added is there, once, whatever else happens."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from unfooled.errors import UserError
from unfooled.storage.journal import TEMPORARY, fingerprint, open_journal, read_journal


def test_results_are_kept_by_conditions_and_number(tmp_path: Path) -> None:
    path = tmp_path / "new/folder/journal.sqlite"
    with open_journal(path, "results") as journal:
        journal.add("a", 1, {"text": "é\u2028\ud800", "value": [1.5, None]})
        journal.add("a", 7, "seven")
        journal.add("b", 1, "other")
    with open_journal(path, "results") as journal:
        assert journal.read("a") == {1: {"text": "é\u2028\ud800", "value": [1.5, None]}, 7: "seven"}
        assert journal.read("a", below=7).keys() == {1}
        assert journal.get("b", 1) == "other"
        assert journal.get("b", 7) is None
        assert journal.read("c") == {}


def test_the_first_result_stays_unless_it_is_replaced(tmp_path: Path) -> None:
    with open_journal(tmp_path / "journal.sqlite", "results") as journal:
        journal.add("a", 1, "first")
        journal.add("a", 1, "second")
        assert journal.get("a", 1) == "first"
        journal.add("a", 1, "third", replace=True)
        assert journal.get("a", 1) == "third"


def test_added_results_survive_an_exception_in_the_block(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"

    def interrupted() -> None:
        with open_journal(path, "results") as journal:
            journal.add("a", 1, "done")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with open_journal(path, "results") as journal:
        assert journal.get("a", 1) == "done"


def test_two_tables_of_one_file_are_apart(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with open_journal(path, "results") as first, open_journal(path, "others") as second:
        first.add("a", 1, "result")
        assert second.get("a", 1) is None


def test_journal_in_memory_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with open_journal(TEMPORARY, "results") as journal:
        journal.add("a", 1, "x")
        assert journal.get("a", 1) == "x"
    assert not list(tmp_path.iterdir())


def test_file_that_is_no_journal_and_folder_that_cannot_be_made_are_named(tmp_path: Path) -> None:
    (tmp_path / "journal.sqlite").write_bytes(b"not a database" * 100)
    damaged = open_journal(tmp_path / "journal.sqlite", "results")
    with pytest.raises(UserError, match=r"journal\.sqlite.*Choose another folder"), damaged:
        pass
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(UserError, match="choose another folder"),
        open_journal(tmp_path / "file/journal.sqlite", "results"),
    ):
        pass


def test_another_process_reads_while_one_writes(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with open_journal(path, "results") as journal:
        journal.add("a", 1, "x")
        reader = sqlite3.connect(path)
        assert reader.execute("SELECT count(*) FROM results").fetchone() == (1,)
        journal.add("a", 2, "y")
        assert reader.execute("SELECT count(*) FROM results").fetchone() == (2,)
        reader.close()


def test_fingerprint_goes_by_content_not_by_order() -> None:
    assert fingerprint({"a": 1, "b": (1, 2)}) == fingerprint({"b": [1, 2], "a": 1})
    assert fingerprint({"a": 1}) != fingerprint({"a": 2})


def test_reading_makes_no_file_and_sees_what_a_writer_has_finished(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with open_journal(path, "results") as journal:
        journal.add("a", 1, "first")
    before = sorted(tmp_path.iterdir())
    with read_journal(path, "results") as journal:
        assert journal.get("a", 1) == "first"
    assert sorted(tmp_path.iterdir()) == before
    with open_journal(path, "results") as writer:
        writer.add("a", 2, "second")
        with read_journal(path, "results") as journal:
            assert journal.read("a") == {1: "first", 2: "second"}


def test_reading_never_writes(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with open_journal(path, "results") as journal:
        journal.add("a", 1, "first")
    with pytest.raises(UserError, match="cannot be read"), read_journal(path, "results") as journal:
        journal.add("a", 2, "second")
    with pytest.raises(UserError, match="is missing"), read_journal(tmp_path / "none.sqlite", "results"):
        pass
    assert not (tmp_path / "none.sqlite").exists()
