"""The examples of one attack, their outcomes in the journal, and the report made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unfooled.attacks import Example
from unfooled.data.inputs import LabelledInputs
from unfooled.errors import UserError
from unfooled.files import read_json
from unfooled.records.attack_report import AttackReport
from unfooled.records.attack_summary import attack_summary
from unfooled.records.outcome import Outcome
from unfooled.storage.journal import Journal, fingerprint, read_journal

REPORT = "attack.json"
JOURNAL = "journal.sqlite"
TABLE = "outcomes"


@dataclass(frozen=True)
class Progress:
    """How far an attack is; ``asr`` is None until something was attacked."""

    done: int
    total: int
    asr: float | None


class AttackWork:
    """The examples of one attack in their order, and the outcomes there are."""

    def __init__(self, inputs: LabelledInputs, conditions: str) -> None:
        self._conditions = conditions
        pairs: Sequence[str | None] = inputs.pairs or [None] * len(inputs.texts)
        self._examples: dict[tuple[str, int], Example] = {}
        for row, text, pair, label in zip(inputs.rows, inputs.texts, pairs, inputs.labels, strict=True):
            texts = (text,) if pair is None else (text, pair)
            self._examples[self._key(row, texts, label)] = Example(row, texts, label)
        self._refused = {
            self._key(one.row, one.texts, None): Outcome(
                one.row, "refused", one.texts, None, message=one.reason
            )
            for one in inputs.refused
        }
        self._order = [*self._examples, *self._refused]
        self._done: dict[tuple[str, int], Outcome] = {}
        self._attacked = self._successes = 0
        self._broken: set[tuple[str, int]] = set()

    def resume(self, journal: Journal) -> list[Example]:
        """Take over what the journal holds; the examples that are left.

        Errors are tried again, and so is what the time cap ended: perhaps the machine was only busy.
        """
        for key, outcome in self._refused.items():
            journal.add(*key, outcome.to_dict())
            self._take(key, outcome)
        left = []
        for key, example in self._examples.items():
            found = journal.get(*key)
            if found is not None and found["status"] != "error" and found.get("limit_hit") != "time":
                self._take(key, Outcome.from_dict(found))
            else:
                left.append(example)
                if found is not None:
                    self._broken.add(key)
        return left

    def keep(self, journal: Journal, outcome: Outcome) -> None:
        key = self._key(outcome.row, outcome.original, outcome.truth)
        journal.add(*key, outcome.to_dict(), replace=key in self._broken)
        self._take(key, outcome)

    @property
    def progress(self) -> Progress:
        asr = self._successes / self._attacked if self._attacked else None
        return Progress(len(self._done), len(self._order), asr)

    def report(self, about: Mapping[str, Any], *, randomised: bool, labels: Sequence[str]) -> AttackReport:
        """The report of what is done so far."""
        made = [key for key in self._order if key in self._done]
        outcomes = tuple(self._done[key] for key in made)
        details = {
            **about,
            "complete": len(made) == len(self._order),
            "journal": {"file": JOURNAL, "examples": [list(key) for key in made]},
        }
        summary = attack_summary(outcomes, goal=about["recipe"]["goal"], randomised=randomised)
        # A victim that names no classes numbers them once it answers, which it need not if all is done.
        classes = max((len(outcome.first_scores) for outcome in outcomes), default=0)
        names = tuple(labels) or tuple(str(number) for number in range(classes))
        return AttackReport(summary, outcomes, names, details)

    def _take(self, key: tuple[str, int], outcome: Outcome) -> None:
        self._done[key] = outcome
        self._attacked += outcome.attacked
        self._successes += outcome.status == "success"

    def _key(self, row: int, texts: tuple[str, ...], label: int | None) -> tuple[str, int]:
        example = {"conditions": self._conditions, "texts": texts, "label": label}
        return fingerprint(example), row


def read_attack(folder: str | Path) -> AttackReport:
    """A report that was kept, with its outcomes."""
    saved = read_json(Path(folder) / REPORT)
    with read_journal(Path(folder) / JOURNAL, TABLE) as journal:
        found = [journal.get(key, row) for key, row in saved["journal"]["examples"]]
    outcomes = tuple(Outcome.from_dict(one) for one in found if one is not None)
    if len(outcomes) < len(found):
        raise UserError(f"{folder}: the journal lacks outcomes of {REPORT}. Run the attack again.")
    summary, labels = saved.pop("summary"), tuple(saved.pop("labels"))
    return AttackReport(summary, outcomes, labels, saved)
