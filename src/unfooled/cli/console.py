"""What all commands share: consoles, the ``--json`` option and errors without tracebacks.

Results go to stdout, progress and messages to stderr, so that output can be piped.
"""

from __future__ import annotations

import json
import shlex
import sys
from typing import Annotated, Any

import typer
from rich.console import Console

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on stdout (progress stays on stderr).")
]


def print_json(value: Any) -> None:
    """One JSON document on stdout, on one line; NaN is never written, half characters are spelt out."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=str)
    typer.echo(text.encode("utf-8", "backslashreplace").decode("utf-8"))


def command_line() -> str:
    """The command as it was given, for the record of its results."""
    return shlex.join(["unfooled", *sys.argv[1:]])
