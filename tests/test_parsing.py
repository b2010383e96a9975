"""JSON and YAML from outside: plain values within limits, or a message that names the place."""

from __future__ import annotations

import time

import pytest

from unfooled.errors import UsageError, UserError
from unfooled.parsing import MOST_DEPTH, parse_json, parse_yaml, quoted


def tower(first: str, next_: str, levels: int = 10) -> str:
    """YAML of a few lines that stands for 10 to the power of `levels` values."""
    lines = [f"a0: &a0 {first}"]
    lines += [f"a{n}: &a{n} {next_.format(', '.join([f'*a{n - 1}'] * 10))}" for n in range(1, levels + 1)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("NaN", "NaN"),
        ('{"a": [1, 1e999]}', "a: 1: the number inf is not finite"),
        ("[" * 100_000, "nested too deeply"),
        ("[" * (MOST_DEPTH + 1) + "]" * (MOST_DEPTH + 1), f"{MOST_DEPTH} levels"),
        ('{"n": 1' + "0" * 25 + "}", "n: a whole number has more than 64 bits"),
        ("[1" + "0" * 5000 + "]", "digits"),
        ('{"a": 1', "line 1 column 8"),
        ("", "Expecting value"),
        (b'{"a": "\xff"}', "not UTF-8"),
    ],
)
def test_json_that_is_damaged_or_beyond_the_limits_is_refused_with_its_place(
    text: str | bytes, reason: str
) -> None:
    with pytest.raises(UserError) as refused:
        parse_json(text, "result.json", remedy="Copy it again.")
    assert str(refused.value).startswith("result.json ")
    assert reason in str(refused.value)
    assert str(refused.value).endswith("Copy it again.")
    assert len(str(refused.value)) < 500


def test_json_keeps_what_names_of_files_and_odd_texts_need() -> None:
    assert parse_json('{"folder": "runs/\\udc80\\ud800", "n": -9223372036854775808}', "x") == {
        "folder": "runs/\udc80\ud800",
        "n": -(2**63),
    }


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("plan: &p [*p]", "line 1: an anchor holds itself"),
        (tower("[x]", "[{}]"), "with all aliases filled in"),
        (tower("{k: 1}", "{{<<: [{}]}}"), "with all aliases filled in"),
        ("[" * 1000, "nested too deeply"),
        ("0x" + "f" * 40, "more than 64 bits"),
        ("n: " + "9" * 5000, "line 1: a number has more than"),
        ("n: 1" + ":59" * 60, "line 1: a number has more than"),
        ("n: .nan", "n: the number nan is not finite"),
        ("1: a", "the name 1 is not text"),
        ("d: !!timestamp 2024-01-01", "d: a date is neither text nor a number"),
        ("b: !!binary aGVsbG8=", "b: a bytes is neither"),
        ("!!python/object/apply:os.system [ls]", "constructor"),
        ("a: \0", "special characters"),
        ("a: [1", "line 1"),
        ("x" * 300_000, "300,000 characters"),
    ],
)
def test_yaml_that_cannot_be_used_is_refused_at_once_with_its_place(text: str, reason: str) -> None:
    started = time.perf_counter()
    with pytest.raises(UsageError, match=r"^plan\.yaml ") as refused:
        parse_yaml(text, "plan.yaml")
    assert reason in str(refused.value)
    assert time.perf_counter() - started < 5


def test_dates_in_yaml_are_text_and_aliases_and_merges_work() -> None:
    read = parse_yaml("a: &a {day: 2024-02-30, n: 1}\nb: {<<: *a, n: 2}\nc: *a\n", "plan.yaml")
    assert read["b"] == {"day": "2024-02-30", "n": 2}
    assert read["c"] == read["a"]


def test_values_are_quoted_briefly_whatever_they_are() -> None:
    class Odd:
        def __repr__(self) -> str:
            raise RuntimeError

    assert quoted("a") == "'a'"
    for value in ("x" * 10_000, [[0] * 1000] * 1000, 10**5000, Odd()):
        assert len(quoted(value)) < 400
