"""The records of a report are read from the journal when they are asked for, in the order of the inputs."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from unfooled.errors import UserError
from unfooled.storage.journal import TEMPORARY, open_journal
from unfooled.storage.kept import Kept, kept_records, read_kept

KEYS = [("b", 3), ("a", 1), ("b", 2), ("a", 9), ("c", 4)]
THERE = [3, 1, 2, 4]
"""Numbers of the results that are there, in the order of the list."""


def kept(path: Path) -> Kept[int]:
    with open_journal(path, "results") as journal:
        listed = journal.write_list(lambda: KEYS)
        assert [result for _, result in journal.read_list(listed)] == [None] * 5
        for key in KEYS:
            if key != ("a", 9):
                journal.add(*key, {"number": key[1]})
        journal.add("a", 2, {"number": 77})  # of another list
        return kept_records(journal, listed, number_of)


def number_of(record: Any) -> int:
    return int(record["number"])


@pytest.mark.parametrize("temporary", [False, True])
def test_it_is_a_sequence_in_the_order_of_the_list(tmp_path: Path, temporary: bool) -> None:
    found = kept(TEMPORARY if temporary else tmp_path / "journal.sqlite")
    assert (len(found), list(found), list(found)) == (4, THERE, THERE)
    assert [found[0], found[-1], found[2]] == [3, 4, 2]
    assert found[1:3] == (1, 2) and found[::-2] == (4, 1) and found[4:] == ()
    assert found == THERE and found == tuple(THERE) and found != THERE[:3] and found != [0, 1, 2, 4]
    assert 2 in found and found.index(2) == 2
    assert repr(found) == "[3, 1, 2, …] (4 records)"
    assert pickle.loads(pickle.dumps(found)) == tuple(THERE)
    with pytest.raises(IndexError):
        found[4]


def test_a_list_is_known_by_its_keys_and_their_order() -> None:
    with open_journal(TEMPORARY, "results") as journal:
        names = {journal.write_list(lambda keys=keys: keys) for keys in (KEYS, KEYS, KEYS[::-1], KEYS[:4])}
        assert len(names) == 3


def test_a_report_shows_what_was_there_when_it_was_made(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    before = kept(path)
    with open_journal(path, "results") as journal:
        journal.add("a", 9, {"number": 9})
        listed = before.where()["list"]
        assert list(before) == THERE
        assert list(kept_records(journal, listed, number_of)) == [3, 1, 2, 9, 4]


def test_a_saved_report_finds_its_records_or_says_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    about = kept(path).where()
    assert read_kept(path, "results", about, number_of) == THERE
    with pytest.raises(UserError, match=r"lacks 2 records.*Run the work again"):
        read_kept(path, "results", {**about, "records": 6}, number_of)
