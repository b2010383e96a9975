"""Yes/no questions about a Wikipedia passage: 9,427 training pairs, 3,270 for test.

Clark et al., NAACL 2019. ``combined.jsonl`` mixes all splits; ``dev.jsonl`` names the rows
of the official validation split, which is the test split here because the labels of the
official one are not public. Many passages come with several questions, in both splits.
"""

from __future__ import annotations

import json
from pathlib import Path

from unfooled.data.rows import Rows, Splits, clean
from unfooled.data.task import Task, find


def _read(folder: Path) -> Splits:
    with find(folder, "dev.jsonl").open(encoding="utf-8", newline="\n") as file:
        test_questions = {clean(json.loads(line)["question"]) for line in file}
    train, test, unlabelled = Rows(), Rows(), 0
    with find(folder, "combined.jsonl").open(encoding="utf-8", newline="\n") as file:
        for number, line in enumerate(file, start=1):
            record = json.loads(line)
            if "label" not in record:
                unlabelled += 1
                continue
            question, passage = clean(record["question"]), clean(record["passage"])
            split = test if question in test_questions else train
            split.add(number, int(record["label"]), question, passage)
    return Splits(train=train, test=test, dropped={"rows without a label": unlabelled})


BOOLQ = Task(
    name="boolq",
    description="Is the answer to the question about the passage yes or no?",
    kind="pair",
    labels=("no", "yes"),
    max_length=256,
    asset="boolq",
    read=_read,
)
