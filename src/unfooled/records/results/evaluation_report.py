"""The result of ``evaluate``: answers to clean and adversarial files of questions, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from unfooled.files import JsonMapping, JsonObject
from unfooled.records.results.result import Facts, Result, share_text
from unfooled.records.row_check import row_notes

KEPT_EXAMPLES = 50
"""Questions of each file that the document shows with their contexts."""


@dataclass(frozen=True, repr=False)
class EvaluationReport(Result):
    """``clean`` (F1 and exact match of the clean file), one entry per adversarial file, and ``about``."""

    clean: JsonObject
    adversarial: Sequence[JsonObject]
    about: JsonObject

    def to_dict(self) -> JsonObject:
        """What ``evaluation.json`` holds."""
        return {**self.about, "clean": self.clean, "adversarial": list(self.adversarial)}

    def headline(self) -> str:
        return f"{self.about['run']} on {self.clean['examples']:,} questions of {self.clean['source']}"

    def facts(self) -> Facts:
        found = [
            ("F1", _share(self.clean, "f1")),
            ("exact match", _share(self.clean, "exact_match")),
            ("forward passes per question", f"{self.clean['forwards_per_example']:.1f}"),
        ]
        for one in self.adversarial:
            name = one["source"]
            found += [
                (f"{name}: robust F1", f"{_share(one, 'robust_f1')}; {_dropped(one, 'f1')}"),
                (
                    f"{name}: robust EM",
                    f"{_share(one, 'robust_exact_match')}; {_dropped(one, 'exact_match')}",
                ),
                (f"{name}: exact match lost", share_text(one["asr_exact_match"])),
                *(_verified(name, one) if "fresh_answers" in one else ()),
                (
                    f"{name}: questions",
                    f"{one['questions']:,}, {one['attacked']:,} with {one['copies']:,} copies",
                ),
            ]
        for part in (self.clean, *self.adversarial):
            found += [("note", f"{part['source']}: {note}") for note in row_notes(part)]
        return found

    def rows(self) -> Iterator[Mapping[str, object]]:
        """One per copy of a question; without adversarial files one for the clean file."""
        if not self.adversarial:
            yield {key: value for key, value in self.clean.items() if isinstance(value, int | float | str)}
        for part in self.adversarial:
            for one in part["answers"]:
                yield {"source": part["source"], **one}


def _verified(name: str, one: JsonMapping) -> Facts:
    """Of a randomised predictor: what holds when the worst copies are asked again."""
    return [
        (f"{name}: robust F1, re-verified", _share(one, "robust_f1_verified")),
        (f"{name}: exact match lost, re-verified", share_text(one["asr_exact_match_verified"])),
    ]


def _share(found: JsonMapping, name: str) -> str:
    low, high = found[f"{name}_interval"]
    return f"{100 * found[name]:.1f} ({100 * low:.1f} to {100 * high:.1f})"


def _dropped(found: JsonMapping, name: str) -> str:
    if not found["paired"]:
        return "no clean answers to compare with"
    low, high = found[f"drop_{name}_interval"]
    return (
        f"clean {100 * found[f'clean_{name}']:.1f}, drop {100 * found[f'drop_{name}']:.1f} "
        f"({100 * low:.1f} to {100 * high:.1f})"
    )
