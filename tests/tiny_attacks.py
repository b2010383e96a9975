"""A tiny recipe and tiny victims, quick enough to attack hundreds of examples in a test."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from tiny_runs import BAD, GOOD
from unfooled.attacks import Answer, Asked
from unfooled.attacks.attempt import Attempt, Steps
from unfooled.settings import setting
from unfooled.words.document import Document

LABELS = ("down", "up")


@dataclass(frozen=True)
class Swap:
    """Word after word becomes the same word, until the answer changes."""

    name: ClassVar[str] = "swap"
    paper: ClassVar[str] = "Nobody 2000"
    goal: ClassVar[Any] = "fickle"
    needs: ClassVar[tuple[str, ...]] = ()

    replacement: str = setting("thing", "What every word becomes")

    def search(self, attempt: Attempt) -> Steps[Document | None]:
        document = attempt.original
        for number in attempt.changeable[: attempt.max_changes]:
            document = document.replace(number, self.replacement)
            trials = yield from attempt.ask([document])
            if trials and trials[0].reached:
                return trials[0].document
        return None


@dataclass(frozen=True)
class Fill(Swap):
    """Word after word becomes what a masked language model puts there."""

    name: ClassVar[str] = "fill"
    needs: ClassVar[tuple[str, ...]] = ("fill",)

    def search(self, attempt: Attempt) -> Steps[Document | None]:
        document = attempt.original
        for number in attempt.changeable:
            which, start, end = document.spans[number]
            ((word, *_),) = yield from attempt.fillings([(document.texts[which], start, end)], count=2)
            document = document.replace(number, word)
            (trial,) = yield from attempt.ask([document])
            if trial.reached:
                return trial.document
        return None


@dataclass(frozen=True)
class Peek(Swap):
    """A recipe that wants to see gradients."""

    name: ClassVar[str] = "peek"
    needs: ClassVar[tuple[str, ...]] = ("gradients",)


@dataclass(frozen=True)
class Stubborn(Swap):
    """A recipe that succeeds where the answer stays."""

    name: ClassVar[str] = "stubborn"
    goal: ClassVar[Any] = "obstinate"


def scores(texts: Sequence[str]) -> list[list[float]]:
    """«up» from one good word on; a text without good or bad words is «down»."""
    found = []
    for text in texts:
        if "explode" in text:
            raise ValueError("boom")
        words = text.lower().split()
        good, bad = (sum(word in known for word in words) for known in (GOOD, BAD))
        up = (0.3 + good) / (1 + good + bad)
        found.append([1 - up, up])
    return found


class NoisyVictim:
    """The same with a noise that the key decides; its answers near one half vary."""

    labels = LABELS
    randomised = True

    def __init__(self, noise: float = 0.4) -> None:
        self.noise = noise
        self.asked: list[Asked] = []

    def answers(self, asked: Sequence[Asked]) -> list[Answer]:
        self.asked += asked
        answers = []
        for one, (_, up) in zip(asked, scores([item.query[0] for item in asked]), strict=True):
            drawn = random.Random(f"{one.key} {one.query}").uniform(-self.noise, self.noise)
            up = min(0.99, max(0.01, up + drawn))
            answers.append(Answer((1 - up, up), int(up > 0.5), forwards=3))
        return answers

    def describe(self) -> dict[str, Any]:
        return {"kind": "noisy", "noise": self.noise}


def write_examples(path: Path, rows: int = 40) -> Path:
    """Labelled texts; every fifth has the wrong label, so that the victim is wrong on it."""
    lines = ["text,label"]
    for number in range(rows):
        good = number % 2 == 0
        word = (GOOD if good else BAD)[number % 7]
        label = "up" if good != (number % 5 == 4) else "down"
        lines.append(f"the film {number:03} is {word} indeed,{label}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
