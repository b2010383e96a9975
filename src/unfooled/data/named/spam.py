"""Spam among English text messages: 4,862 rows of the SMS Spam Collection.

Almeida et al., DocEng 2011. Lines of ``label TAB text``; some texts are quoted as in CSV.
"""

from __future__ import annotations

from pathlib import Path

from unfooled.data.rows import Rows, Splits, clean
from unfooled.data.tables.delimited import unquote
from unfooled.data.task import Task, find

LABELS = ("ham", "spam")


def _read(folder: Path) -> Splits:
    rows = Rows()
    with find(folder, "spam_collection.csv").open(encoding="utf-8", newline="\n") as file:
        for number, line in enumerate(file, start=1):
            label, text = line.rstrip("\n").split("\t")
            rows.add(number, LABELS.index(label), clean(unquote(text)))
    return Splits(train=rows)


SPAM = Task(
    name="spam",
    description="Whether a text message is spam (SMS Spam Collection)",
    kind="single",
    labels=LABELS,
    max_length=64,
    meaning_decides=False,
    asset="spam",
    read=_read,
)
