"""Batches: similar lengths together, every input once, results in the order of the inputs."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from unfooled.hub.batches import balanced, length_sorted_chunks, map_by_length, pad, padded_inputs

CPU = torch.device("cpu")
lengths = st.lists(st.integers(1, 50), max_size=40)


@given(lengths, st.integers(1, 200))
def test_every_input_is_in_one_chunk_within_the_budget(sizes: list[int], most: int) -> None:
    chunks = list(length_sorted_chunks(sizes, most))
    assert sorted(index for chunk in chunks for index in chunk) == list(range(len(sizes)))
    for chunk in chunks:
        assert len(chunk) == 1 or len(chunk) * max(sizes[index] for index in chunk) <= most


@given(lengths, st.integers(1, 200))
def test_results_come_in_the_order_of_the_inputs(sizes: list[int], most: int) -> None:
    def double(chunk: list[int]) -> list[int]:
        return [2 * index for index in chunk]

    assert map_by_length(double, sizes, most, CPU) == [2 * index for index in range(len(sizes))]


@given(st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=12), min_size=1, max_size=8))
def test_padding_adds_only_what_the_mask_hides(rows: list[list[int]]) -> None:
    inputs = padded_inputs(rows, 0, CPU)
    for row, ids, mask in zip(rows, inputs["input_ids"], inputs["attention_mask"], strict=True):
        assert ids[mask.bool()].tolist() == row
        assert ids[~mask.bool()].unique().tolist() in ([], [0])
    assert pad(rows, 0, multiple_of=8).shape[1] % 8 == 0


def test_few_tokens_are_shared_out_over_the_threads() -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        assert balanced(1000, 600, CPU) == 500
        assert balanced(0, 600, CPU) > 0
    finally:
        torch.set_num_threads(before)
