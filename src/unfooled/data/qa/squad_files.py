"""SQuAD's JSON, versions 1.1 and 2.0: articles with paragraphs, each with its questions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from unfooled.data.qa.question_checks import RawQuestion
from unfooled.errors import DataError

SHAPE = 'Write {"data": [{"paragraphs": [{"context": "…", "qas": [{"id", "question", "answers"}]}]}]}.'


def is_squad(text: str) -> bool:
    """Whether a JSON text looks like a SQuAD file, from its beginning."""
    head = text[:4096].lstrip()
    return head.startswith("{") and '"data"' in head and ('"paragraphs"' in head or '"version"' in head)


def squad_records(name: str, text: str) -> Iterator[RawQuestion]:
    """Every question with its context; what is no such file is refused with the place."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        place = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        reason = getattr(error, "msg", None) or str(error)
        raise DataError(f"{name}{place}: not valid JSON ({reason}). Write the file again.") from None
    row = 0
    for a, article in enumerate(_list(name, document, "data")):
        for p, paragraph in enumerate(_list(f"{name}, article {a + 1}", article, "paragraphs")):
            where = f"{name}, article {a + 1}, paragraph {p + 1}"
            for question in _list(where, paragraph, "qas"):
                row += 1
                cells = question if isinstance(question, dict) else {}
                yield RawQuestion(
                    f"{where}, question {row}", {**cells, "context": paragraph.get("context")}, row
                )


def _list(where: str, value: Any, key: str) -> list[Any]:
    found = value.get(key) if isinstance(value, dict) else None
    if not isinstance(found, list):
        raise DataError(f"{where}: there is no list {key!r}. {SHAPE}")
    return found
