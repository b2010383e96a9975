"""The answer for one input, in the user's words."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from unfooled.files import JsonObject


@dataclass(frozen=True)
class Prediction:
    """The answer for one input, in the user's words."""

    label: str | None
    """None when the input was refused or the predictor abstained. Of a question: the text of the answer,
    empty if there is none."""
    scores: dict[str, float] = field(default_factory=dict)
    votes: tuple[dict[str, int], ...] = ()
    """Votes of each stage that was run."""
    stage: int = 0
    """The stage that decided, from 1; 0 if there was no vote."""
    masked_words: tuple[str, ...] = ()
    masked_spans: tuple[tuple[int, int, int], ...] = ()
    """(which text, start, end) of each masked word, for display."""
    anchored_words: tuple[str, ...] = ()
    anchored_spans: tuple[tuple[int, int, int], ...] = ()
    """Where asked for: the words whose gradient is neither small nor large, and their places, in order."""
    forwards: int = 0
    """Forward passes spent."""
    abstained: bool = False
    decided: bool | None = None
    """Whether the votes decided at the error rate asked for; None if none was. False: the leader may not be
    the most probable class, whatever the label says."""
    span: tuple[int, int] | None = None
    """Of a question: first character and the one past the last of the leading answer in its context."""
    leader: str | None = None
    """The leading label, also when the predictor abstained."""
    truncated: bool = False
    """The text was longer than the model reads; only its beginning was used."""
    refused: str = ""
    """Why there is no answer, if there is none."""

    def to_dict(self) -> JsonObject:
        return asdict(self)
