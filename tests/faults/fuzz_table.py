"""All fuzz cases as a table: what was tried, how often, outcome. Written into docs/faults.md by

    python tests/faults/fuzz_table.py [KIND …]

which takes about half an hour on one core. The cases are the same every time: each is known by its name and
number, and ``run_cases(name, case, range(number, number + 1))`` runs it alone.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from fuzz import Tally, run_cases  # noqa: E402

KINDS = ("files", "library", "commands")
COUNTS = {"page": 200, "uf.": 700, "unfooled ": 300, "report ": 1000, "journal ": 1000}
"""Cases by how a name begins; the others are quick."""
OTHERS = {"files": 2300, "library": 4500, "commands": 300}


def all_cases(kind: str, folder: Path) -> dict[str, Callable[..., object]]:
    if kind == "files":
        from file_cases import file_cases as made
    elif kind == "library":
        from library_cases import library_cases as made
    else:
        from command_cases import command_cases as made
    return made(folder)


def tallies(kind: str, folder: Path, *, most: int | None = None) -> Iterator[tuple[str, Tally]]:
    """Run the cases of a kind; ``most`` of each instead of all."""
    for name, case in all_cases(kind, folder).items():
        begun = next((count for start, count in COUNTS.items() if name.startswith(start)), OTHERS[kind])
        yield name, run_cases(name, case, range(begun if most is None else min(most, begun)))


def main(kinds: list[str]) -> None:
    for kind in kinds or KINDS:
        with tempfile.TemporaryDirectory() as folder:
            for name, tally in tallies(kind, Path(folder)):
                done, refused, failed = (tally.outcomes[how] for how in ("done", "refused", "failed"))
                print(
                    f"| {kind} | {name} | {tally.count:,} | {done:,} | {refused:,} | {failed:,} |", flush=True
                )
                for failure in tally.failures[:5]:
                    print(failure, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
