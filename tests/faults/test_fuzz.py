"""Odd arguments, odd values and damaged files end in a result or a message, never in a traceback."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from fuzz import run_cases
from fuzz_table import KINDS, tallies

from unfooled.errors import UserError

FEW = {"files": 4, "library": 10, "commands": 1}
"""Cases of each name in `make test`."""


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_a_few_fuzzed_inputs_give_a_result_or_a_message(tmp_path: Path, kind: str) -> None:
    found = dict(tallies(kind, tmp_path, most=FEW[kind]))
    assert not [failure for tally in found.values() for failure in tally.failures]
    ended = Counter(how for tally in found.values() for how in tally.outcomes)
    assert ended["done"] and ended["refused"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_hundred_thousand_fuzzed_inputs_give_a_result_or_a_message(tmp_path: Path, kind: str) -> None:
    found = dict(tallies(kind, tmp_path))
    assert not [failure for tally in found.values() for failure in tally.failures]


def test_the_harness_tells_faults_from_messages() -> None:
    def case(chooser: Random) -> None:
        kind = chooser.randrange(4)
        if kind == 1:
            raise UserError("The file is damaged. Copy it again.")
        if kind == 2:
            raise KeyError("votes")
        if kind == 3:
            raise UserError("Delete the file.")

    tally = run_cases("example", case, range(100))
    assert set(tally.outcomes) == {"done", "refused", "failed"}
    assert len(tally.failures) == tally.outcomes["failed"]
    assert any("KeyError" in failure for failure in tally.failures)
    assert any("Delete the file" in failure for failure in tally.failures)


def test_a_case_that_hangs_is_a_fault() -> None:
    tally = run_cases("endless", lambda _: time.sleep(5), range(1), deadline=0.05)
    assert "TooLong" in tally.failures[0]


def test_the_same_number_is_the_same_case() -> None:
    drawn: list[float] = []
    for _ in range(2):
        run_cases("again", lambda chooser: drawn.append(chooser.random()), range(3, 5))
    assert drawn[:2] == drawn[2:]
