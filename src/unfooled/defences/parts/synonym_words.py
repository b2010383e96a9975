"""Whether training texts hold any word that a table has substitutes for: without one nothing is redrawn."""

from __future__ import annotations

from unfooled.data import TaskData
from unfooled.errors import UserError
from unfooled.predictors.smoothing import SubstitutionSets
from unfooled.words.word import WORD


def check_synonyms(name: str, sets: SubstitutionSets, data: TaskData) -> None:
    """Refuse texts without any such word: the defence would train as if it were not there."""
    table = sets.substitutes()
    columns = [data.train[one] for one in ("text", "text_pair") if one in data.train.column_names]
    words = (match.group() for texts in columns for text in texts for match in WORD.finditer(text))
    if not any(len(table.sampled(word)) > 1 for word in words):
        raise UserError(
            f"{name} found no substitute of any word in the training texts (table={sets.table}, min_cosine="
            f"{sets.min_cosine:g}), so it would train on them as they are. Name another table, lower "
            "min_cosine, or choose another defence; counter-fitted and wordnet hold English words."
        )
