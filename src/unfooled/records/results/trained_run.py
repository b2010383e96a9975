"""A finished run: what it is, how it fared on the clean test inputs, how it was made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from unfooled.files import JsonObject

Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Sample:
    """One text and a run's answer to it."""

    text: str
    pair: str | None
    truth: str | None
    source: str
    """Where the text comes from, e.g. "test set"; may be empty."""
    label: str | None
    leader: str | None
    scores: dict[str, float]
    votes: tuple[dict[str, int], ...]
    forwards: int
    masked: tuple[tuple[int, int, int], ...]
    """(which text, start, end) of each masked word."""
    truncated: bool
    refused: str

    @property
    def outcome(self) -> str:
        if self.label is None:
            return "none"
        return "unknown" if self.truth is None else "right" if self.label == self.truth else "wrong"

    @property
    def masked_words(self) -> list[str]:
        return [(self.pair or "" if which else self.text)[start:end] for which, start, end in self.masked]


@dataclass(frozen=True)
class Run:
    """A finished run: what it is, how it fared on the clean test texts, how it was made."""

    name: str
    folder: str
    labels: tuple[str, ...]
    examples: int
    accuracy: float
    low: float
    high: float
    macro_f1: float | None
    abstained: int
    confusion: tuple[tuple[int, ...], ...]
    """Rows are the truth, columns the answer; texts without an answer are in neither. Empty where answers are
    no labels."""
    forwards: float
    """Forward passes per answer."""
    train_seconds: float
    train_examples: int
    resumed: bool
    """Training was interrupted: ``train_seconds`` leaves out the steps that were lost."""
    versions: dict[str, str]
    metric: str = "accuracy"
    """What ``accuracy`` is: the name of the task's metric."""
    rows: tuple[tuple[str, int], ...] = ()
    """How many rows each split has, then how many were left out for each reason."""
    weights: str = ""
    """The digest of the weights that were measured; empty if the folder does not say."""
    weight_files: tuple[tuple[str, str], ...] = ()
    """(name, SHA-256) of the files that hold them."""
    warnings: tuple[str, ...] = ()
    """What looked wrong in training, as sentences."""
    seconds: float | None = None
    """For all test texts, if that was measured."""
    machine: str = ""
    """What computed them; empty if the folder does not say."""
    task: str = ""
    defence: str = ""
    predictor: Any = None
    """Its description, as in ``unfooled.json``."""
    deployed: tuple[tuple[str, Any], ...] = ()
    """The settings in force, defaults filled in: the defence's, then the predictor's."""
    config_text: str = ""
    losses: Points = ()
    dev: Points = ()
    kept_epoch: float | None = None
    """The epoch whose weights these are; None if the folder does not say."""
    samples: tuple[Sample, ...] = ()
    reads: str = "text"
    """The kind of its inputs: text or image."""

    @property
    def majority(self) -> float | None:
        """Accuracy of always giving the most frequent class; unknown if some texts got no answer."""
        known = self.confusion and not self.abstained
        return max(map(sum, self.confusion)) / self.examples if known else None

    def summary(self) -> JsonObject:
        """The verdict as plain values."""
        about = ("name", "folder", "task", "defence", "metric", "examples")
        names = (*about, "accuracy", "forwards", "train_seconds")
        return {name: getattr(self, name) for name in names} | {"accuracy_interval": [self.low, self.high]}
