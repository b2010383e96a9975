"""Odd values, and documents that were damaged: what the fuzz cases are made of.

Everything is drawn from the ``random.Random`` that is handed in, so a case is known by its number.
"""

from __future__ import annotations

import copy
import json
import math
from random import Random
from typing import Any

NUMBERS: tuple[Any, ...] = (
    *(0, 1, -1, 2, 3, 10**15, 2**31, 2**32, 2**63, 2**64, 10**40, -(10**40)),
    *(0.0, -0.5, 0.5, 1.5, 1e-300, 1e308, math.nan, math.inf, -math.inf, True, False),
)
TEXTS: tuple[str, ...] = (
    *(
        "",
        " ",
        "x",
        "auto",
        "null",
        "nan",
        "1e999",
        "-1",
        "all",
        "no/such/file",
        "=1+1",
        "\x1b[31m",
        "\0",
        "\ud800",
    ),
    *(
        "é" * 40,
        "x" * 300,
        "a/" * 200,
        "[[[[",
        "{a: &a [*a]}",
        "[MASK]",
        "%s{0}",
        "9" * 40,
        "\u202e",
        "a,b,,c",
    ),
)


def odd(chooser: Random, depth: int = 0) -> Any:
    """Any value that a document or a caller may hold."""
    kind = chooser.randrange(7 if depth < 3 else 4)
    if kind <= 1:
        return chooser.choice(NUMBERS)
    if kind == 2:
        return chooser.choice(TEXTS)
    if kind == 3:
        return None
    if kind == 4:
        return [odd(chooser, depth + 1) for _ in range(chooser.randrange(4))]
    if kind == 5:
        return {chooser.choice(TEXTS): odd(chooser, depth + 1) for _ in range(chooser.randrange(3))}
    return nested(chooser.choice((3, 60)))


def nested(levels: int) -> Any:
    made: Any = 1
    for number in range(levels):
        made = [made] if number % 2 else {"a": made}
    return made


def damaged_bytes(content: bytes, chooser: Random) -> bytes:
    """Flipped, cut, doubled or foreign bytes."""
    made = bytearray(content)
    kind = chooser.randrange(6)
    if not made or kind == 0:
        return made[: chooser.randrange(len(made) + 1)]
    if kind == 1:
        return b""
    if kind == 2:
        return chooser.randbytes(chooser.randrange(200))
    if kind == 3:
        start = chooser.randrange(len(made))
        return made[:start] + made[start : start + 50] * 2 + made[start:]
    for _ in range(chooser.choice((1, 2, 8))):
        made[chooser.randrange(len(made))] = chooser.randrange(256)
    return bytes(made)


def damaged_value(value: Any, chooser: Random) -> Any:
    """The value with one to three places changed: another type, another length, a missing or further key."""
    made = copy.deepcopy(value)
    for _ in range(chooser.choice((1, 1, 1, 2, 3))):
        made = _changed(made, chooser)
    return made


def _changed(value: Any, chooser: Random) -> Any:
    if isinstance(value, dict) and value and chooser.random() < 0.9:
        key = chooser.choice(list(value))
        kind = chooser.randrange(12)
        if kind == 0:
            del value[key]
        elif kind == 1:
            value[chooser.choice(TEXTS)] = odd(chooser)
        else:
            value[key] = _changed(value[key], chooser)
        return value
    if isinstance(value, list) and value and chooser.random() < 0.9:
        place = chooser.randrange(len(value))
        kind = chooser.randrange(8)
        if kind == 0:
            del value[place]
        elif kind == 1:
            value.append(copy.deepcopy(value[place]))
        else:
            value[place] = _changed(value[place], chooser)
        return value
    if isinstance(value, int | float) and chooser.random() < 0.5:
        return chooser.choice(NUMBERS)
    return odd(chooser)


def damaged_json(content: bytes, chooser: Random) -> bytes:
    """A JSON document with other values in it, or with other bytes."""
    if chooser.random() < 0.3:
        return damaged_bytes(content, chooser)
    if chooser.random() < 0.03:
        return b"[" * 50_000
    return json.dumps(damaged_value(json.loads(content), chooser)).encode("utf-8", "surrogatepass")
