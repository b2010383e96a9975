"""Questions in memory: each with its context and the answers that are right, each answer at its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from unfooled.files import JsonObject


@dataclass(frozen=True)
class GoldAnswer:
    """A right answer and the first character of it in the context."""

    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass(frozen=True)
class AskedQuestion:
    """A question about a context. Without right answers it cannot be answered (SQuAD 2.0)."""

    id: str
    text: str
    context: str = field(repr=False)
    answers: tuple[GoldAnswer, ...] = ()
    row: int = 1
    """Its 1-based place in the source."""

    @property
    def truth(self) -> tuple[str, ...]:
        """The texts of the right answers."""
        return tuple(answer.text for answer in self.answers)

    def to_dict(self) -> JsonObject:
        """A record of JSON lines, as it can be read again."""
        answers = [{"text": answer.text, "answer_start": answer.start} for answer in self.answers]
        return {"id": self.id, "question": self.text, "context": self.context, "answers": answers}


@dataclass(frozen=True)
class QuestionRows(Sequence[AskedQuestion]):
    """Questions in order. ``paragraphs`` says of each which paragraph it is about."""

    questions: tuple[AskedQuestion, ...]
    paragraphs: tuple[str, ...] = field(repr=False)
    """Equal where two contexts are, case and spacing aside; an adversarial copy has that of its original."""

    def __len__(self) -> int:
        return len(self.questions)

    def __iter__(self) -> Iterator[AskedQuestion]:
        return iter(self.questions)

    def __getitem__(self, place: int) -> AskedQuestion:  # type: ignore[override]  # a slice is ``take``
        return self.questions[place]

    def __add__(self, other: QuestionRows) -> QuestionRows:
        return QuestionRows(self.questions + other.questions, self.paragraphs + other.paragraphs)

    def take(self, places: Sequence[int]) -> QuestionRows:
        """The questions at these places, in that order."""
        return QuestionRows(
            tuple(self.questions[place] for place in places),
            tuple(self.paragraphs[place] for place in places),
        )

    def keys(self) -> list[str]:
        """What two rows share when they are duplicates."""
        return [f"{even(one.text)}\x1f{even(one.context)}" for one in self.questions]

    def group_keys(self) -> list[str]:
        """The paragraphs, each once: no question about them belongs into another split."""
        return list(dict.fromkeys(self.paragraphs))


@dataclass
class QuestionSplits:
    """What a source holds. A missing dev or test split is held out of train later."""

    name: str
    train: QuestionRows
    dev: QuestionRows | None = None
    test: QuestionRows | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Records left out while reading, by reason."""


def even(text: str) -> str:
    """The text without case and spacing."""
    return " ".join(text.split()).casefold()
