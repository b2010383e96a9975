"""Topic of BBC news articles, 2004–2005: 2,225 files in one folder a topic.

Greene & Cunningham, ICML 2006. A file's row is its place in the sorted listing. One file
is Windows-1252, the others UTF-8. About a hundred articles are there twice.
"""

from __future__ import annotations

from pathlib import Path

from unfooled.data.rows import Rows, Splits, clean
from unfooled.data.task import Task, find

TOPICS = ("business", "entertainment", "politics", "sports", "tech")


def _read(folder: Path) -> Splits:
    root = find(folder, TOPICS[0]).parent
    rows = Rows()
    files = [
        (label, path) for label, topic in enumerate(TOPICS) for path in sorted((root / topic).glob("*.txt"))
    ]
    for number, (label, path) in enumerate(files, start=1):
        rows.add(number, label, clean(_decode(path.read_bytes())))
    return Splits(train=rows)


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252")


NEWS = Task(
    name="news",
    description="Topic of a BBC news article",
    kind="single",
    labels=TOPICS,
    max_length=256,
    meaning_decides=False,
    asset="news",
    read=_read,
)
