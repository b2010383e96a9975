"""Small files of questions, and tiny models that answer them."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForQuestionAnswering

from tiny_models import CONFIGS, SIZES
from unfooled.models import QaModel

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
    """Two questions per paragraph, told apart by one word of theirs: a tiny model learns to."""
    chooser, found = random.Random(0), []
    more: dict[str, Any] = {"is_impossible": False} if unanswerable else {}
    for number in range(paragraphs):
        thing, word, place = (chooser.choice(own) for own in (THINGS, LIKED, PLACES))
        context = f"the {thing} is {word} in {place} {number}"
        found.append(qa(f"q{number}x0", f"the {thing} is", context, word, **more))
        found.append(qa(f"q{number}x1", f"in in the {thing}", context, place, **more))
        if unanswerable:
            found.append(qa(f"q{number}x2", f"about {thing}", context, None, is_impossible=True))
    return found


def tiny_reader(
    family: str = "bert", *, max_length: int = 48, stride: int = 8, unanswerable: bool = False, seed: int = 0
) -> QaModel:
    """A random model of this family that answers questions."""
    config_class, tokenizer_of, own = CONFIGS[family]
    tokenizer = tokenizer_of()
    torch.manual_seed(seed)
    config = config_class(
        vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id, num_labels=2, **{**SIZES, **own}
    )
    module = AutoModelForQuestionAnswering.from_config(config).eval()
    for name, weight in module.named_parameters():
        if "qa_outputs.weight" in name:  # a random head hardly prefers one token to another
            torch.nn.init.normal_(weight, std=1.0)
    return QaModel(module, tokenizer, max_length=max_length, stride=stride, unanswerable=unanswerable)
