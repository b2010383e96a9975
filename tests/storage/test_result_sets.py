"""A result set answers one question: the same goes on, a part is kept apart, another gets another name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unfooled.cli.options.common_options import kept_in
from unfooled.errors import UsageError, UserError
from unfooled.storage.questions import QUESTION, Question, digests, numbers, read_question
from unfooled.storage.result_sets import SetName, choose_set, set_aside

REPORT = "certificate.json"


def question(inputs: int = 4, *, source: str = "reviews (test)", **conditions: Any) -> Question:
    asked = digests({"row": row, "source": source} for row in range(inputs))
    return Question("certify", {"n": 100, "seed": 0, **conditions}, {"inputs": asked}, source)


def answered(root: Path, what: Question, out: Path | SetName | None = None) -> str:
    """Answer a question, as a verb does; gives the name of its set."""
    chosen = choose_set(what, root, "words", out)
    chosen.begin(what)
    chosen.write(REPORT, {"inputs": len(what.asked["inputs"])})
    assert chosen.folder is not None
    return chosen.folder.name


def test_the_same_question_and_a_larger_limit_go_on_in_the_set(tmp_path: Path) -> None:
    assert [answered(tmp_path, question(count)) for count in (4, 4, 9)] == ["words"] * 3
    assert (tmp_path / "words" / REPORT).read_text() == '{\n  "inputs": 9\n}\n'
    kept = read_question(tmp_path / "words")
    assert kept is not None and len(kept.asked["inputs"]) == 9


def test_a_smaller_limit_is_answered_and_loses_nothing(tmp_path: Path) -> None:
    answered(tmp_path, question(24))
    before = {file.name: file.read_bytes() for file in (tmp_path / "words").iterdir()}
    chosen = choose_set(question(6), tmp_path, "words")
    assert chosen.folder == tmp_path / "words" and chosen.part and "24 inputs" in chosen.note
    assert answered(tmp_path, question(6)) == "words"
    assert {file.name: file.read_bytes() for file in (tmp_path / "words").iterdir()} == before


def test_another_question_gets_another_name_and_finds_it_again(tmp_path: Path) -> None:
    asked = [question(), question(n=200), question(source="new.csv"), question(seed=1)]
    names = [answered(tmp_path, one) for one in asked]
    assert names == ["words", "words-2", "words-3", "words-4"]
    assert [answered(tmp_path, one) for one in asked] == names
    note = choose_set(question(n=300), tmp_path, "words").note
    assert "n: 100 → 300" in note and "words-5" in note
    assert (
        "inputs: reviews (test) → old.csv" in choose_set(question(source="old.csv"), tmp_path, "words").note
    )


def test_a_set_of_the_users_own_name_is_found_by_its_question(tmp_path: Path) -> None:
    assert answered(tmp_path, question(), SetName("first-try")) == "first-try"
    assert answered(tmp_path, question(8)) == "first-try"
    assert answered(tmp_path, question(), SetName("second-try")) == "second-try"


@pytest.mark.parametrize("where", ["name", "out"])
def test_a_named_folder_with_another_question_is_refused_and_stays(tmp_path: Path, where: str) -> None:
    named = SetName("mine") if where == "name" else tmp_path / "mine"
    answered(tmp_path, question(), named)
    before = (tmp_path / "mine" / QUESTION).read_bytes()
    with pytest.raises(UsageError, match=rf"mine holds .*n: 100 → 200.*choose another --{where}"):
        choose_set(question(n=200), tmp_path, "words", named)
    assert (tmp_path / "mine" / QUESTION).read_bytes() == before


def test_results_that_do_not_say_their_question_are_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / REPORT).write_text("{}")
    with pytest.raises(UsageError, match="do not say which question"):
        choose_set(question(), tmp_path, "words", SetName("words"))
    assert answered(tmp_path, question()) == "words-2"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/tmp", "-x", "a b", "x" * 101, "\x1b[31m"])
def test_names_that_are_no_folder_of_the_run_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="letters, digits"):
        choose_set(question(), tmp_path, "words", SetName(name))


@pytest.mark.parametrize("default", ["a b/c", "..", "x" * 300, "-", "../up", "\x1b[31m"])
def test_whatever_a_recipe_is_called_its_set_is_a_folder_of_the_run(tmp_path: Path, default: str) -> None:
    chosen = choose_set(question(), tmp_path / "sets", default)
    assert chosen.folder is not None and chosen.folder.parent == tmp_path / "sets"
    chosen.begin(question())
    assert [one.name for one in tmp_path.iterdir()] == ["sets"]


def test_name_and_out_exclude_each_other_and_a_name_needs_a_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not both"):
        kept_in(tmp_path, "mine")
    with pytest.raises(UsageError, match="give --out"):
        choose_set(question(), None, "words", SetName("mine"))
    assert choose_set(question(), None, "words").folder is None


@pytest.mark.parametrize("text", ["{", "[]", '{"format": 9}', '{"format": 1, "kind": "x", "asked": []}'])
def test_a_damaged_question_is_named(tmp_path: Path, text: str) -> None:
    answered(tmp_path, question())
    (tmp_path / "words" / QUESTION).write_text(text)
    with pytest.raises(UserError, match=r"question\.json"):
        choose_set(question(), tmp_path, "words")


def test_what_is_set_aside_keeps_its_files_under_another_name(tmp_path: Path) -> None:
    for n in (100, 200):
        answered(tmp_path, question(n=n), SetName("mine"))
        set_aside(tmp_path / "mine")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["mine-before", "mine-before-2"]
    assert (tmp_path / "mine-before" / REPORT).is_file()


@given(st.integers(0, 5), st.integers(0, 5), st.integers(1, 5), st.integers(1, 5))
def test_two_sizes_make_a_part_only_if_neither_is_larger(
    inputs: int, repeats: int, held: int, held_repeats: int
) -> None:
    def asked(first: int, second: int) -> Question:
        return Question("repeat", {}, {"inputs": numbers(first), "repeats": numbers(second)})

    found = asked(inputs, repeats).relation(asked(held, held_repeats))
    more, less = inputs >= held and repeats >= held_repeats, inputs <= held and repeats <= held_repeats
    assert found == ("same" if more and less else "larger" if more else "part" if less else "other")


def test_only_sets_of_the_same_verb_beside_a_folder_are_looked_at(tmp_path: Path) -> None:
    answered(tmp_path, question(), tmp_path / "first")
    attacked = Question("attack", {}, {"inputs": numbers(2)})
    attacked_set = choose_set(attacked, None, "textfooler", tmp_path / "attacked")
    attacked_set.begin(attacked)
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / QUESTION).write_text("{")
    chosen = choose_set(question(n=200), None, "words", tmp_path / "second")
    assert chosen.others == (tmp_path / "first",)
