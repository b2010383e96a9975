"""The result of a repeated evaluation: how much the answers to the same inputs vary."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from unfooled.files import JsonMapping, JsonObject
from unfooled.records.results.result import Facts, Result, kept_facts, share_text
from unfooled.records.row_check import row_notes


@dataclass(frozen=True, repr=False)
class RepeatReport(Result):
    """``summary`` (see :func:`repeat_statistics`), and how it came about."""

    summary: JsonObject
    about: JsonObject

    def to_dict(self) -> JsonObject:
        """What ``repeat.json`` holds."""
        return {**self.about, **self.summary}

    def headline(self) -> str:
        summary, about = self.summary, self.about
        return (
            f"{summary['repeats']:,} evaluations of {about['run']} on {summary['inputs']:,} inputs of "
            f"{about['source']}, predictor {about['predictor']['name']}"
        )

    def facts(self) -> Facts:
        summary, accuracy = self.summary, self.summary["accuracy"]
        std = "" if accuracy["std"] is None else f" ± {100 * accuracy['std']:.2f}"
        low, high = summary["majority_accuracy_interval"]
        changed = {
            "value": summary["changed_share"],
            "interval": summary["changed_interval"],
            "count": summary["changed"],
            "n": summary["inputs"],
        }
        return [
            (
                "accuracy",
                f"{100 * accuracy['mean']:.1f} %{std}, from {100 * accuracy['min']:.1f} to "
                f"{100 * accuracy['max']:.1f} % over the repeats",
            ),
            (
                "accuracy of majority answers",
                f"{100 * summary['majority_accuracy']:.1f} % ({100 * low:.1f} to {100 * high:.1f}), "
                f"{summary['inputs']:,} inputs",
            ),
            ("answers that changed", share_text(changed)),
            ("agreement", f"{100 * summary['agreement']:.1f} %"),
            ("forward passes per input", f"{self.about['forwards_per_example']:.1f}"),
            *(("note", note) for note in row_notes(self.about)),
            *kept_facts(self.about),
        ]

    def rows(self) -> Iterator[JsonMapping]:
        for one in self.summary["per_input"]:
            yield {
                "row": one["row"],
                "label": one["label"],
                "correct": one["correct"],
                "agreement": one["agreement"],
                **{f"answers_{name}": count for name, count in one["answers"].items()},
            }
