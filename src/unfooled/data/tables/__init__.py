"""Read a data file into a table whose rows know their place in the file.

CSV, TSV, JSON lines, JSON arrays (each also with ``.gz``) and Parquet, by suffix. A file
that cannot be read gives a :class:`~unfooled.errors.DataError` that names file and line.
"""

from __future__ import annotations

from pathlib import Path

from unfooled.data.tables.data_table import DataTable
from unfooled.data.tables.delimited import read_csv, read_tsv
from unfooled.data.tables.json_files import read_json, read_jsonl
from unfooled.data.tables.parquet import read_parquet
from unfooled.data.tables.raw import read_text
from unfooled.errors import DataError
from unfooled.files import check_not_pipe

TEXT_READERS = {
    ".csv": read_csv,
    ".tsv": read_tsv,
    ".jsonl": read_jsonl,
    ".ndjson": read_jsonl,
    ".json": read_json,
}
SUFFIXES = (*TEXT_READERS, ".parquet")


def read_table(path: str | Path, *, encoding: str = "utf-8") -> DataTable:
    """The table in a file; at least one row."""
    path = Path(path)
    check_is_file(path)
    suffix = suffix_of(path)
    if suffix == ".parquet" and path.suffix.lower() != ".gz":
        table = read_parquet(path)
    elif suffix in TEXT_READERS:
        table = TEXT_READERS[suffix](str(path), read_text(path, encoding=encoding))
    else:
        ending = f"ending in {path.suffix}" if path.suffix else "without an ending"
        raise DataError(
            f"{path}: files {ending} are not supported. Use {', '.join(SUFFIXES)} (text formats also as .gz)."
        )
    if not table.rows:
        raise DataError(f"{path}: the file has no data rows. Check that it was written completely.")
    return table


def suffix_of(path: Path) -> str:
    """The suffix that tells the format, ``.gz`` aside."""
    return Path(path.stem if path.suffix.lower() == ".gz" else path.name).suffix.lower()


def check_is_file(path: Path) -> None:
    if path.is_dir():
        inside = sorted(p.name for p in path.iterdir() if suffix_of(p) in SUFFIXES)
        hint = f", for example {path / inside[0]}" if inside else ""
        raise DataError(f"{path}: this is a folder. Name one file{hint}.")
    if not path.exists():
        raise DataError(f"{path}: no such file. Check the path; relative paths start at {Path.cwd()}.")
    check_not_pipe(path)
