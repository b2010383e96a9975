"""What ``attack`` and ``certify`` share about victims that are no run: options, folders, the command kept."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

VictimSet = Annotated[
    list[str] | None, typer.Option(help="An option of a victim that is not a run, e.g. rate=5. Repeatable.")
]
Labels = Annotated[
    str | None, typer.Option(help="Class names of such a victim in the order of its scores: ham,spam.")
]


def victim_options(victim_set: list[str] | None, labels: str | None) -> dict[str, object]:
    """The options of a victim, by name."""
    from unfooled.settings import parse_assignments

    found: dict[str, object] = dict(parse_assignments(victim_set or []))
    if labels:
        found["labels"] = [name.strip() for name in labels.split(",")]
    return found


def victim_folder(kind: str, name: str) -> Path:
    """Where the result sets of a victim are: ``attacks/VICTIM``, ``certificates/VICTIM``."""
    return Path(kind) / re.sub(r"[^\w.-]+", "-", name).strip("-.")


def command_without_secrets(victim: str, name: str) -> str:
    """The command as it was given, without what may be a password: in an address, headers, extra fields."""
    from unfooled.files import writable

    is_address = victim.lower().startswith(("http://", "https://"))
    words: Sequence[str] = [name if is_address and word == victim else word for word in sys.argv[1:]]
    secret = re.compile(r"^(--victim-set=)?(\s*(?:headers|extra)\s*=).*", re.DOTALL)
    return writable(shlex.join(["unfooled", *(secret.sub(r"\1\2…", word) for word in words)]))
