"""Whether the rows of a measurement are rows that the run was trained on, and what was done about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from unfooled.files import JsonMapping, JsonObject


@dataclass(frozen=True)
class RowCheck:
    """Counts over all rows that were named, before a limit is applied."""

    rows: int
    training: int = 0
    """Rows that the run was trained on."""
    included: bool = False
    """Whether they are among the inputs all the same."""
    dev: int = 0
    """Rows that the epoch was chosen on."""
    missing: int = 0
    """Rows of the run's own split that its data no longer has."""
    checked: bool = True
    """False: the run does not say which rows it was trained on."""

    def to_dict(self) -> JsonObject:
        return asdict(self)

    def notes(self) -> list[str]:
        """What must be known before the numbers are used."""
        if not self.checked:
            return [
                "The run does not say which rows it was trained on (no rows.json): training rows among the "
                "inputs cannot be told apart."
            ]
        found, of = [], f"of {self.rows:,} rows"
        if self.training and self.included:
            found.append(f"{self.training:,} {of} are training rows: these are not figures of unseen inputs.")
        elif self.training:
            found.append(
                f"{self.training:,} {of} are training rows and were left out; --allow-training-rows includes "
                "them."
            )
        if 0 < self.dev < self.rows - self.training:
            found.append(f"{self.dev:,} {of} are dev rows, on which the epoch was chosen.")
        if self.missing:
            found.append(
                f"{self.missing:,} of {self.rows + self.missing:,} rows of the split are no longer in the "
                "data. The others are used."
            )
        return found


def row_notes(about: JsonMapping) -> list[str]:
    """The notes of a saved result; none if it says nothing about its rows."""
    saved = about.get("rows")
    return RowCheck(**saved).notes() if isinstance(saved, Mapping) else []
