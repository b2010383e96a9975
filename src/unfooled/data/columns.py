"""Which columns hold the text, the second text and the label.

Columns that are named must exist; without names, usual ones are taken if only one fits.
"""

from __future__ import annotations

from dataclasses import dataclass

from unfooled.data.tables.data_table import DataTable
from unfooled.errors import DataError, did_you_mean

TEXT_NAMES = ("text", "sentence", "review", "content", "comment", "message", "document", "tweet")
LABEL_NAMES = ("label", "labels", "target", "class", "category", "sentiment", "gold_label", "stars", "rating")
PAIR_NAMES = (
    ("premise", "hypothesis"),
    ("sentence1", "sentence2"),
    ("question1", "question2"),
    ("question", "sentence"),
    ("question", "passage"),
    ("text", "text_pair"),
)


@dataclass(frozen=True)
class Columns:
    text: str
    label: str
    pair: str | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.text,) if self.pair is None else (self.text, self.pair)


def choose_columns(
    table: DataTable, *, text: str | None = None, pair: str | None = None, label: str | None = None
) -> Columns:
    """The named columns, and a guess for those that are not named."""
    label = _named(table, label, "--label-column") if label else _guess(table, LABEL_NAMES, "label")
    text, pair = choose_text_columns(table, text=text, pair=pair, exclude=label)
    return Columns(text, label, pair)


def choose_text_columns(
    table: DataTable, *, text: str | None = None, pair: str | None = None, exclude: str | None = None
) -> tuple[str, str | None]:
    if text is None and pair is None:
        lower = {column.lower(): column for column in table.columns}
        pairs = [(lower[a], lower[b]) for a, b in PAIR_NAMES if a in lower and b in lower]
        if len(pairs) == 1:
            return pairs[0]
        left = [column for column in table.columns if column != exclude]
        return (left[0] if len(left) == 1 else _guess(table, TEXT_NAMES, "text")), None
    text = _named(table, text, "--text-column") if text else _guess(table, TEXT_NAMES, "text", exclude=pair)
    return text, _named(table, pair, "--pair-column") if pair else None


def require_columns(table: DataTable, columns: Columns) -> None:
    """Dev and test files must have the columns of the training file."""
    for column in (*columns.texts, columns.label):
        if column not in table.columns:
            raise DataError(
                f"{table.name}: there is no column {column!r}, which the training data has."
                f"{did_you_mean(column, table.columns)} Columns found: {_listed(table)}. Rename the column."
            )


def _named(table: DataTable, column: str, option: str) -> str:
    if column in table.columns:
        return column
    raise DataError(
        f"{table.name}: there is no column {column!r}.{did_you_mean(column, table.columns)}"
        f" Columns found: {_listed(table)}. Choose one with {option}."
    )


def _guess(table: DataTable, names: tuple[str, ...], what: str, exclude: str | None = None) -> str:
    found = [column for column in table.columns if column.lower() in names and column != exclude]
    if len(found) == 1:
        return found[0]
    problem = "no column is known to hold" if not found else f"columns {_quoted(found)} could each hold"
    raise DataError(
        f"{table.name}: {problem} the {what}. Columns found: {_listed(table)}."
        f" Choose one with --{what}-column (the first line of a CSV or TSV file must name the columns)."
    )


def _listed(table: DataTable) -> str:
    shown = table.columns[:20]
    return _quoted([c if len(c) <= 40 else c[:39] + "…" for c in shown]) + (
        " …" if len(table.columns) > 20 else ""
    )


def _quoted(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names)
