"""Topic of BBC news articles, 2004–2005: 2,225 files in one folder a topic.

Greene & Cunningham, ICML 2006. A file's row is its place in the sorted listing. One file
is Windows-1252, the others UTF-8. About a hundred articles are there twice.

``news-leads`` has only the first 40 words of each: the headline and a sentence or two.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from unfooled.data.rows import Rows, Splits, clean
from unfooled.data.task import Task, find

LEAD = 40
"""Words of an article in ``news-leads``."""
TOPICS = ("business", "entertainment", "politics", "sports", "tech")


def _read(folder: Path, words: int | None = None) -> Splits:
    root = find(folder, TOPICS[0]).parent
    rows = Rows()
    files = [
        (label, path) for label, topic in enumerate(TOPICS) for path in sorted((root / topic).glob("*.txt"))
    ]
    for number, (label, path) in enumerate(files, start=1):
        text = clean(_decode(path.read_bytes()))
        rows.add(number, label, " ".join(text.split()[:words]))
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
NEWS_LEADS = Task(
    name="news-leads",
    description="Topic of a BBC news article, from its first 40 words",
    kind="single",
    labels=TOPICS,
    max_length=64,
    meaning_decides=False,
    asset="news",
    read=partial(_read, words=LEAD),
)
