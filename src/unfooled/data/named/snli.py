"""Natural language inference: 100,000 training pairs of SNLI and its test split.

Bowman et al., EMNLP 2015. Pairs on which the annotators did not agree (gold label ``-``)
are left out, as is usual. The dev split is held out of train pair by pair, so a premise of
dev may also stand in train with another hypothesis (of the test premises, one does).
"""

from __future__ import annotations

import json
from pathlib import Path

from unfooled.data.rows import Rows, Splits, clean
from unfooled.data.task import Task, find

LABELS = ("entailment", "neutral", "contradiction")


def _read(folder: Path) -> Splits:
    train, train_unlabelled = _read_file(find(folder, "snli_1.0_train_subset.jsonl"))
    test, test_unlabelled = _read_file(find(folder, "snli_1.0_test.jsonl"))
    dropped = {"train rows without a gold label": train_unlabelled}
    dropped["test rows without a gold label"] = test_unlabelled
    return Splits(train=train, test=test, dropped=dropped)


def _read_file(path: Path) -> tuple[Rows, int]:
    rows, unlabelled = Rows(), 0
    with path.open(encoding="utf-8", newline="\n") as file:
        for number, line in enumerate(file, start=1):
            record = json.loads(line)
            if record["gold_label"] == "-":
                unlabelled += 1
                continue
            premise, hypothesis = clean(record["sentence1"]), clean(record["sentence2"])
            rows.add(number, LABELS.index(record["gold_label"]), premise, hypothesis)
    return rows, unlabelled


SNLI = Task(
    name="snli",
    description="Does the first sentence entail the second, contradict it, or neither?",
    kind="pair",
    labels=LABELS,
    max_length=64,
    meaning_decides=True,
    asset="snli",
    read=_read,
)
