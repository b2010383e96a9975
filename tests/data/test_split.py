"""Splits: stratified, disjoint, repeatable; test never moves."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unfooled.data.rows import Rows, Splits
from unfooled.data.split import TaskData, assemble, hold_out, stratified_order
from unfooled.data.task import Task
from unfooled.errors import DataError, UsageError

label_lists = st.lists(st.integers(0, 5), min_size=1, max_size=200)
class_sizes = st.lists(st.integers(3, 60), min_size=2, max_size=6)


def rows_of(sizes: list[int]) -> Rows:
    labels = [label for label, size in enumerate(sizes) for _ in range(size)]
    return Rows([f"text {i}" for i in range(len(labels))], labels, list(range(1, len(labels) + 1)))


def split(sizes: list[int], **settings: int) -> TaskData:
    task = Task("toy", "", "single", tuple(map(str, range(len(sizes)))), max_length=32)
    return assemble(task, Splits(rows_of(sizes)), **settings)


@given(label_lists, st.integers(0, 3))
def test_every_prefix_holds_the_floor_or_ceiling_of_each_class_share(labels: list[int], seed: int) -> None:
    order = stratified_order(labels, f"{seed}")
    assert sorted(order) == list(range(len(labels)))
    for size in range(len(labels) + 1):
        prefix = [labels[i] for i in order[:size]]
        for label in set(labels):
            assert abs(prefix.count(label) - size * labels.count(label) / len(labels)) < 1


@given(class_sizes, st.floats(0.05, 0.5))
def test_held_out_rows_are_stratified_within_one_row_a_class(sizes: list[int], share: float) -> None:
    rows = rows_of(sizes)
    kept, held = hold_out(rows, share, "any")
    assert sorted(kept.row + held.row) == rows.row
    for label, size in enumerate(sizes):
        assert abs(held.label.count(label) - size * len(held) / len(rows)) < 1


@settings(max_examples=25)
@given(class_sizes, st.integers(0, 100))
def test_splits_are_disjoint_complete_and_keep_every_class_in_train(sizes: list[int], seed: int) -> None:
    data = split(sizes, seed=seed)
    assert sorted([*data.train["row"], *data.dev["row"], *data.test["row"]]) == list(range(1, sum(sizes) + 1))
    assert set(data.train["label"]) == set(range(len(sizes)))
    assert data.sizes()["test"] == max(1, round(sum(sizes) / 8))


@settings(max_examples=10)
@given(class_sizes, st.integers(0, 100))
def test_the_same_seed_gives_the_same_splits(sizes: list[int], seed: int) -> None:
    first, second = split(sizes, seed=seed), split(sizes, seed=seed)
    for name in ("train", "dev", "test"):
        assert getattr(first, name).to_list() == getattr(second, name).to_list()


def test_the_seed_changes_dev_but_never_test() -> None:
    first, second = split([100, 60], seed=0), split([100, 60], seed=1)
    assert set(first.dev["row"]) != set(second.dev["row"])
    assert first.test.to_list() == second.test.to_list()


def test_the_held_out_test_rows_are_the_same_everywhere() -> None:
    assert list(split([20, 20]).test["row"]) == [12, 36, 1, 17, 26]


def test_a_smaller_limit_is_a_stratified_part_of_a_larger_one() -> None:
    small, large = split([90, 30], limit=20, limit_test=4), split([90, 30], limit=40, limit_test=8)
    assert set(small.train["row"]) < set(large.train["row"])
    assert set(small.test["row"]) < set(large.test["row"])
    assert list(small.train["label"]).count(0) == 15
    assert small.dev["row"][:] == large.dev["row"][:]


def test_a_limit_beyond_the_rows_takes_all_of_them() -> None:
    assert split([20, 20], limit=10_000).sizes() == split([20, 20]).sizes()


@pytest.mark.parametrize("limits", [{"limit": 1}, {"limit_dev": 0}, {"limit_test": -3}])
def test_a_limit_that_is_too_small_is_refused(limits: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="too small"):
        split([20, 20], **limits)


def test_duplicates_are_dropped_and_counted_and_never_straddle_splits() -> None:
    rows = rows_of([30, 30])
    rows.text = [f"Film  {i // 2}" if i % 2 else f"film {i // 2} " for i in range(60)]
    task = Task("toy", "", "single", ("a", "b"), max_length=32)
    data = assemble(task, Splits(rows))
    assert data.dropped == {"duplicate rows": 30}
    assert sum(data.sizes().values()) == 30


def test_duplicates_with_another_label_are_counted_apart() -> None:
    rows = rows_of([10, 10])
    rows.text[15] = rows.text[3].upper()
    data = assemble(Task("toy", "", "single", ("a", "b"), max_length=32), Splits(rows))
    assert data.dropped == {"duplicate rows with another label": 1}


def test_training_rows_found_in_a_given_test_split_leave_train_not_test() -> None:
    rows = rows_of([20, 20])
    test = rows.take([0, 1, 39])
    task = Task("toy", "", "single", ("a", "b"), max_length=32)
    data = assemble(task, Splits(rows, test=test))
    assert set(data.test["row"]) == {1, 2, 40}
    assert not set(data.test["row"]) & (set(data.train["row"]) | set(data.dev["row"]))
    assert data.dropped == {"training rows that are also in dev or test": 3}


def test_given_dev_rows_leave_train_and_lose_those_that_are_in_test() -> None:
    rows = rows_of([20, 20])
    task = Task("toy", "", "single", ("a", "b"), max_length=32)
    data = assemble(task, Splits(rows, dev=rows.take([0, 1, 38]), test=rows.take([1, 39])))
    assert [set(s["row"]) for s in (data.dev, data.test)] == [{1, 39}, {2, 40}]
    assert set(data.train["row"]) == set(range(3, 39))
    assert sum(data.dropped.values()) == 5


def test_train_given_again_as_test_is_refused() -> None:
    task = Task("toy", "", "single", ("a", "b"), max_length=32)
    with pytest.raises(DataError, match="every training row is also in dev or test"):
        assemble(task, Splits(rows_of([5, 5]), test=rows_of([5, 5])))


def test_pairs_that_share_one_text_are_not_duplicates() -> None:
    rows = Rows()
    for i in range(20):
        rows.add(i + 1, i % 2, "one premise", f"hypothesis {i}")
    data = assemble(Task("toy", "", "pair", ("a", "b"), max_length=32), Splits(rows))
    assert sum(data.sizes().values()) == 20
    assert data.train.column_names == ["text", "text_pair", "label", "row"]
