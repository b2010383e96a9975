"""The report as a file: read what the folders hold, show it, write it in one step.

>>> report("runs/plain", "runs/rsmi", out="report.html")

The chart library is a pinned asset. Where it cannot be had, the page is complete all the same: tables stay,
and charts are drawings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unfooled.api.arguments import checks_arguments
from unfooled.api.read_evidence import read_report_data
from unfooled.api.target import folder_of
from unfooled.errors import UsageError, UserError
from unfooled.files import check_path, write_text
from unfooled.records.results.documents import WrittenReport
from unfooled.reports import SUFFIXES, filled_sections, render, title, verdict_sentences, write_tables
from unfooled.settings import choose

if TYPE_CHECKING:
    from unfooled.predictors import Classifier

LIBRARY = "vega"
SCRIPTS = ("vega.min.js", "vega-lite.min.js", "vega-embed.min.js")


@checks_arguments
def report(
    *runs: str | Path | Classifier,
    out: str | Path = "report.html",
    format: str | None = None,
    static: bool = False,
    on_section: Callable[[str], None] | None = None,
) -> WrittenReport:
    """Write the report of runs (folders or loaded classifiers), benchmark folders, attack and certificate
    folders, and TextAttack CSVs to ``out``.

    ``format`` is html, or md, csv, json or latex for the tables alone; None takes it from the ending of
    ``out`` (.html, .md, .csv, .json, .tex). ``static`` leaves out every script.
    ``on_section`` is called with the title of each section as it is made.

    >>> report("runs/plain", "runs/rsmi", out="report.html").path
    """
    given, file = [folder_of(run) for run in runs], Path(out)
    format = _format_of(file) if format is None else format
    _check(given, file, format)
    data = read_report_data(given)
    sections = filled_sections(data, on_section)
    library = None
    if format == "html":
        drawn = any(section["content"].get(name) for section in sections for name in ("charts", "maps"))
        library = chart_library() if drawn and not static else None
        text = render(data, library=library, script=not static, sections=sections)
    else:
        tables = [table for section in sections for table in section["content"].get("tables", ())]
        text = write_tables(tables, format, title=title(data), sentences=verdict_sentences(data))
    write_text(file, text)
    return WrittenReport(
        file,
        tuple(run.summary() for run in data.runs),
        tuple(one.summary() for one in data.textattack),
        library is not None,
        tuple(why for model in data.models for why in model.not_its_own),
        format,
    )


def chart_library() -> list[str] | None:
    """Vega, Vega-Lite and Vega-Embed with their licence, in the order they run; None if not to be had."""
    from unfooled import assets

    try:
        folder = assets.path(LIBRARY)
        licence = (folder / "LICENSE").read_text(encoding="utf-8")
        sources = [(folder / name).read_text(encoding="utf-8") for name in SCRIPTS]
    except (UserError, OSError):
        return None
    return [f"/* Vega, Vega-Lite and Vega-Embed\n{licence}*/", *sources]


def _format_of(file: Path) -> str:
    """The format that the ending of a file's name says."""
    suffixes = {suffix: name for name, suffix in SUFFIXES.items()} | {".htm": "html"}
    if file.suffix.lower() not in suffixes and not file.is_dir():
        raise UsageError(
            f"--out {file}: the ending of the name says the format: {', '.join(SUFFIXES.values())}. Give one "
            "of them, or name the format with --format."
        )
    return suffixes.get(file.suffix.lower(), "html")


def _check(given: Sequence[Path], file: Path, format: str) -> None:
    choose(SUFFIXES, format, kind="format")
    if not given:
        raise UsageError("There is nothing to report: name at least one run folder.")
    for path in given:
        check_path(path, "report")
    suffix = SUFFIXES[format]
    if file.is_dir():
        raise UsageError(f"{file} is a folder. Give --out a file, e.g. --out {file / f'report{suffix}'}.")
    if file.suffix.lower() not in (suffix, ".htm" if format == "html" else suffix):
        what = "an HTML page" if format == "html" else f"written as {format}"
        raise UsageError(f"The report is {what}: give --out a name that ends in {suffix}, not {file.name!r}.")
    if file.resolve() in {path.resolve() for path in given}:
        raise UsageError(f"--out {file} is one of the files to report about. Choose another name.")
    inside = file.exists() and any(file.resolve().is_relative_to(path.resolve()) for path in given)
    if inside and file.stem != "report":
        raise UsageError(f"--out {file} would replace a file of a folder that is read. Choose another name.")
