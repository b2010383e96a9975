"""The report as a file: reads the folders of runs and benchmarks and hands them to the pages of evaluate/.

>>> write_report([Path("runs/plain"), Path("runs/rsmi")], Path("report.html"))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unfooled.evaluate.page import render
from unfooled.evaluate.results import read_run
from unfooled.evaluate.textattack_csv import read_textattack_csv
from unfooled.run.files import write_text


@dataclass(frozen=True)
class Report:
    """What was written: the file, and the verdict on each run as plain values."""

    path: Path
    runs: tuple[dict[str, Any], ...]
    textattack: tuple[dict[str, Any], ...] = ()


def write_report(
    paths: Sequence[Path],
    out: Path,
    *,
    format: str = "html",
    on_section: Callable[[str], None] | None = None,
) -> Report:
    """Write the report of these run folders, benchmark folders and CSV files of TextAttack to ``out``."""
    distinct: dict[Path, Path] = {}
    for given in map(Path, paths):
        inside = sorted(given.glob("runs/*/unfooled.json")) if (given / "benchmark.json").is_file() else []
        for path in [marker.parent for marker in inside] or [given]:
            distinct.setdefault(path.resolve(), path)
    logged = [path for path in distinct.values() if path.suffix.lower() == ".csv" and not path.is_dir()]
    runs = [read_run(path) for path in distinct.values() if path not in logged]
    attacks = [read_textattack_csv(path) for path in logged]
    write_text(Path(out), render(runs, textattack=attacks))
    return Report(
        Path(out), tuple(run.summary() for run in runs), tuple(attack.summary() for attack in attacks)
    )
