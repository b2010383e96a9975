"""The result of one attack: what it did to each input, and what that adds up to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from unfooled.files import JsonMapping, JsonObject
from unfooled.records.export import export_outcomes, outcome_row
from unfooled.records.outcome import Outcome
from unfooled.records.results.result import Facts, Result, kept_facts, mean_text, share_text
from unfooled.records.row_check import row_notes
from unfooled.records.summaries.attack_summary import cut_short, untried


@dataclass(frozen=True, repr=False)
class AttackReport(Result):
    """``summary`` (see :func:`attack_summary`), the outcomes, and how they came about."""

    summary: JsonObject
    outcomes: Sequence[Outcome]
    labels: tuple[str, ...]
    about: JsonObject

    def to_dict(self) -> JsonObject:
        """What ``attack.json`` holds; the outcomes are in the journal."""
        return {**self.about, "labels": list(self.labels), "summary": self.summary}

    def export(self, path: str | Path) -> None:
        """Write the outcomes as .csv, .jsonl or .parquet."""
        export_outcomes(path, {str(self.about["recipe"]["name"]): self.outcomes}, self.labels)

    def headline(self) -> str:
        about, counts = self.about, self.summary["examples"]
        unfinished = "" if about.get("complete", True) else ", not finished"
        return (
            f"{about['recipe']['name']} on {about['victim']['name']}: {counts:,} inputs of "
            f"{about['source']}{unfinished}"
        )

    def facts(self) -> Facts:
        summary = self.summary
        obstinate = summary["goal"] == "obstinate"
        facts = [
            ("accuracy before", share_text(summary["sacc"])),
            ("accuracy under attack", share_text(summary["racc"])),
            ("answer kept, meaning changed" if obstinate else "attack success", share_text(summary["asr"])),
        ]
        if summary["randomised"]:
            facts.append(("success on fresh noise", share_text(summary["asr_verified"])))
        facts += _score_facts(summary)
        facts.append(("queries", mean_text(summary["queries"])))
        if "curve" in summary:
            facts += _size_facts(summary)
        elif summary["changed_words"]["n"]:
            facts.append(("changed words", mean_text(summary["changed_words"])))
        apart = {name: summary["counts"][name] for name in ("not-attackable", "refused", "error")}
        facts += [(name, f"{count:,}") for name, count in apart.items() if count]
        notes = [note for note in (cut_short(summary), untried(summary)) if note] + row_notes(self.about)
        return facts + [("note", note) for note in notes] + kept_facts(self.about)

    def rows(self) -> Iterator[JsonMapping]:
        recipe = str(self.about["recipe"]["name"])
        return (outcome_row(recipe, one, self.labels) for one in self.outcomes)


def _score_facts(summary: JsonMapping) -> Facts:
    """F1 and exact match of answers to questions; nothing for other inputs."""
    if "right" not in summary:
        return []
    facts = [("right answers", str(summary["right"]))]
    for key, name in (("f1", "F1"), ("exact_match", "exact match")):
        before, after = (share_text(summary[f"{key}_{time}"]) for time in ("before", "after"))
        facts += [(f"{name} before", before), (f"{name} under attack", after)]
    return facts


def _size_facts(summary: JsonMapping) -> Facts:
    """How far successes on images lie, and accuracy against the size of the attack."""
    facts = [(f"{summary['norm']} distance", mean_text(summary["distance"], 3))]
    if len(summary["curve"]) > 1:
        key = "racc_verified" if summary["randomised"] else "racc"
        points = [
            f"{100 * point[key]['value']:.0f} % at {point['size']:g}"
            for point in summary["curve"]
            if point[key]["value"] is not None
        ]
        facts.append(("accuracy by size", ", ".join(points)))
    return facts
