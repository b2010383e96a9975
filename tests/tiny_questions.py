"""Small files of questions, and tiny models that answer them."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

PLACES = ["night", "day", "war", "love", "world", "life", "time", "story", "plot", "scene"]
THINGS = ["film", "movie", "actor", "director", "score", "ending", "man", "woman", "people", "way"]
LIKED = ["good", "great", "gorgeous", "witty", "funny", "warm", "lovely", "bold", "clever", "fine"]


def qa(id: str, question: str, context: str, answer: str | None, **more: Any) -> dict[str, Any]:
    """A record as JSON lines have it; the answer is found in the context."""
    answers = [] if answer is None else [{"text": answer, "answer_start": context.index(answer)}]
    return {"id": id, "question": question, "context": context, "answers": answers, **more}


def squad(records: list[dict[str, Any]], version: str = "1.1") -> dict[str, Any]:
    """SQuAD's document of these records, one article, a paragraph for each context."""
    contexts = dict.fromkeys(record["context"] for record in records)
    paragraphs = [
        {
            "context": context,
            "qas": [
                {key: value for key, value in record.items() if key != "context"}
                for record in records
                if record["context"] == context
            ],
        }
        for context in contexts
    ]
    return {"version": version, "data": [{"title": "tiny", "paragraphs": paragraphs}]}


def write_squad(path: Path, records: list[dict[str, Any]], version: str = "1.1") -> Path:
    path.write_text(json.dumps(squad(records, version), ensure_ascii=False), encoding="utf-8")
    return path


def tiny_records(paragraphs: int = 40, *, unanswerable: bool = False) -> list[dict[str, Any]]:
    """Two questions per paragraph, answered by the word after «the film is»: learnt by a tiny model."""
    chooser, found = random.Random(0), []
    for number in range(paragraphs):
        first, second = chooser.sample(THINGS, 2)
        words = chooser.sample(LIKED, 2)
        context = (
            f"the {first} is {words[0]} and the {second} is {words[1]} in {chooser.choice(PLACES)} {number}"
        )
        for part, (thing, word) in enumerate(zip((first, second), words, strict=True)):
            more: dict[str, Any] = {"is_impossible": False} if unanswerable else {}
            found.append(qa(f"q{number}x{part}", f"the {thing} is", context, word, **more))
        if unanswerable:
            absent = next(thing for thing in THINGS if thing not in (first, second))
            found.append(qa(f"q{number}x2", f"the {absent} is", context, None, is_impossible=True))
    return found
