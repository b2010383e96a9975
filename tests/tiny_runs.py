"""A tiny encoder on disk and a tiny data file, for tests that train."""

from __future__ import annotations

import csv
import random
from pathlib import Path
from typing import Any

GOOD = ["fine", "good", "great", "gorgeous", "witty", "funny", "lovely"]
BAD = ["bad", "poor", "dull", "awful", "boring", "flat", "silly"]


def write_encoder(folder: Path) -> Path:
    """A random BERT classifier folder that ``--encoder`` takes."""
    # Here, because worker processes import this file for its words alone, and torch takes two seconds.
    import torch
    from transformers import AutoModelForSequenceClassification, BertConfig

    from tiny_models import SIZES, bert_tokenizer

    tokenizer = bert_tokenizer()
    torch.manual_seed(0)
    config = BertConfig(vocab_size=len(tokenizer), num_labels=2, **SIZES)
    AutoModelForSequenceClassification.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def write_reviews(path: Path, rows: int = 320) -> Path:
    """Reviews whose label is told by one word: a task that a tiny model learns."""
    chooser = random.Random(0)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["review", "stars"])
        for number in range(rows):
            word = chooser.choice(GOOD if number % 2 else BAD)
            filler = " ".join(chooser.choices(["the film", "a story", "this plot", "that scene"], k=2))
            writer.writerow([f"{filler} is {word} {number}", "up" if number % 2 else "down"])
    return path


def write_inputs(folder: Path) -> dict[str, Any]:
    """Training settings for a tiny encoder and the reviews, both written into ``folder``."""
    return {
        "data": str(write_reviews(folder / "reviews.csv")),
        "text_column": "review",
        "label_column": "stars",
        "encoder": str(write_encoder(folder / "encoder")),
        "batch_size": 16,
        "device": "cpu",
        "precision": "float32",
    }
