"""From a file or dataset with questions to its splits: SQuAD's JSON, JSON lines, Parquet, Hugging Face."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from unfooled.data.hub import download_dataset
from unfooled.data.qa.question_checks import RawQuestion, ReadQuestions, checked_questions
from unfooled.data.qa.question_rows import QuestionSplits
from unfooled.data.qa.question_split import QuestionData, assemble_questions
from unfooled.data.qa.squad_files import is_squad, squad_records
from unfooled.data.tables import check_is_file, read_table, suffix_of
from unfooled.data.tables.data_table import DataTable
from unfooled.data.tables.raw import read_text
from unfooled.data.texts import TextRows, read_rows
from unfooled.errors import DataError, UserError

if TYPE_CHECKING:
    from datasets import DatasetDict

COLUMNS = ("question", "context", "answers")
"""Columns by which a table of questions is recognised."""
TABLES = (".jsonl", ".ndjson", ".json", ".parquet")


def has_questions(source: str | Path, *, encoding: str = "utf-8") -> bool:
    """Whether a file holds questions with contexts and answers. Datasets of the hub are not looked at."""
    path = Path(source)
    try:
        if not path.is_file():
            return False
        changed = path.stat().st_mtime_ns, path.stat().st_size
    except (OSError, ValueError):
        return False
    return _file_has_questions(path, encoding, changed)


@lru_cache(maxsize=64)
def _file_has_questions(path: Path, encoding: str, changed: tuple[int, int]) -> bool:
    suffix = suffix_of(path)
    try:
        if suffix == ".parquet":
            import pyarrow.parquet as pq

            return _are_questions(pq.read_schema(path).names)
        if suffix not in TABLES:
            return False
        text = read_text(path, encoding=encoding)
        return is_squad(text) or _are_questions(_first_columns(path, text))
    except (UserError, ValueError, OSError):
        return False  # who reads the file tells what is wrong with it


def _first_columns(path: Path, text: str) -> Iterable[str]:
    """The columns of the first row of JSON lines, or of a JSON array."""
    from unfooled.data.tables.json_files import read_json, read_jsonl

    head = text.lstrip()
    if head.startswith("["):
        return read_json(str(path), text).columns
    return read_jsonl(str(path), head.partition("\n")[0]).columns


def _are_questions(columns: Iterable[str]) -> bool:
    return set(COLUMNS) <= set(columns)


def read_questions(path: str | Path, *, encoding: str = "utf-8", lenient: bool = False) -> ReadQuestions:
    """Every question of a file, in order, and how many bad records were left out."""
    path = Path(path)
    check_is_file(path)
    return checked_questions(_records(path, encoding), str(path), lenient=lenient)


def _records(path: Path, encoding: str) -> Iterable[RawQuestion]:
    suffix = suffix_of(path)
    if suffix not in TABLES:
        raise DataError(
            f"{path}: files with questions end in {', '.join(TABLES)} (text formats also as .gz), and this "
            f"{'has no ending' if not path.suffix else f'ends in {path.suffix}'}."
        )
    if suffix == ".json":
        text = read_text(path, encoding=encoding)
        if text.lstrip().startswith("{") and (is_squad(text) or "\n{" not in text):
            return squad_records(str(path), text)
    return table_records(read_table(path, encoding=encoding))


def table_records(table: DataTable) -> Iterator[RawQuestion]:
    """One record per row; rows without an id are named by their place."""
    for place, cells in table.rows:
        own = cells.get("id")
        named = cells if own is not None else {**cells, "id": f"{table.unit}-{place}"}
        yield RawQuestion(table.where(place), named, place)


def asked_rows(path: str | Path, *, encoding: str = "utf-8") -> TextRows:
    """Questions to answer, with their contexts and all that the file says of each; answers may be missing."""
    path = Path(path)
    check_is_file(path)
    if suffix_of(path) != ".json" or not is_squad(text := read_text(path, encoding=encoding)):
        return read_rows(path, text_column="question", pair_column="context", pairs=True, encoding=encoding)
    cells = [dict(record.cells) for record in squad_records(str(path), text)]
    for row, own in enumerate(cells, start=1):
        if not (isinstance(own.get("question"), str) and isinstance(own["context"], str)):
            raise DataError(f"{path}, question {row}: question and context must be texts. Correct it.")
    if not cells:
        raise DataError(f"{path}: there are no questions. Check that the file was written completely.")
    texts = [(own["question"], own["context"]) for own in cells]
    return TextRows(["id", "question", "context"], texts, cells)


def load_questions(
    train: str | Path,
    *,
    dev: str | Path | None = None,
    test: str | Path | None = None,
    seed: int = 0,
    limit: int | None = None,
    limit_dev: int | None = None,
    limit_test: int | None = None,
    encoding: str = "utf-8",
    lenient: bool = False,
) -> QuestionData:
    """The splits of a file or of a dataset ``hub:NAME[:CONFIGURATION]``.

    A test file that is not given is held out of train (paragraphs with one question in eight, always the
    same), a dev file likewise (one in ten, by ``seed``). ``lenient``: bad records are left out and counted.
    """
    if str(train).startswith("hub:"):
        splits = _hub_splits(str(train), lenient=lenient)
    else:
        splits = _file_splits(Path(train), dev, test, encoding=encoding, lenient=lenient)
    return assemble_questions(splits, seed=seed, limit=limit, limit_dev=limit_dev, limit_test=limit_test)


def _file_splits(
    train: Path, dev: str | Path | None, test: str | Path | None, *, encoding: str, lenient: bool
) -> QuestionSplits:
    dropped: Counter[str] = Counter()

    def rows(path: str | Path) -> ReadQuestions:
        found = read_questions(path, encoding=encoding, lenient=lenient)
        dropped.update(found.dropped)
        return found

    return QuestionSplits(
        train.name.split(".")[0],
        rows(train).rows,
        None if dev is None else rows(dev).rows,
        None if test is None else rows(test).rows,
        dropped,
    )


def _hub_splits(source: str, *, lenient: bool) -> QuestionSplits:
    found, dropped = _downloaded(source), Counter[str]()
    name = source.removeprefix("hub:").rstrip("/").split("/")[-1].replace(":", "-")

    def rows(split: str) -> ReadQuestions:
        data = found[split]
        table = DataTable(
            f"{name}, split {split}", data.column_names, list(enumerate(data.to_list(), 1)), "row"
        )
        checked = checked_questions(table_records(table), table.name, lenient=lenient)
        dropped.update(checked.dropped)
        return checked

    if "train" not in found:
        raise DataError(f"{source}: there is no split 'train'. Splits found: {', '.join(found)}.")
    held = next((split for split in ("validation", "dev") if split in found), None)
    return QuestionSplits(
        name,
        rows("train").rows,
        None if held is None else rows(held).rows,
        rows("test").rows if "test" in found else None,
        dropped,
    )


def _downloaded(source: str) -> DatasetDict:
    name, _, configuration = source.removeprefix("hub:").partition(":")
    return download_dataset(name, configuration or None)
