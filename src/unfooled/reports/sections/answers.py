"""Answers to questions: clean and adversarial files side by side, and the questions that broke."""

from __future__ import annotations

from collections.abc import Iterator

from unfooled.files import JsonMapping, JsonObject
from unfooled.records.evidence import Evidence, ModelEvidence, NamedResult
from unfooled.reports import tables
from unfooled.reports.formatting import visible
from unfooled.reports.marked import layered
from unfooled.reports.section import Content, Section
from unfooled.reports.tables import Column, Table, TableCell

MOST_SHOWN = 20
"""Questions of each adversarial file that are shown."""


def content(data: Evidence) -> Content:
    found = [(model, one) for model in data.models for one in model.evaluated]
    if not found:
        return None
    shown = [
        {"title": f"{one.of(model.name)}, {part['source']}", "broken": part["broken"], "examples": examples}
        for model, one in found
        for part in one.found["adversarial"]
        if (examples := [_example(own) for own in part["examples"][:MOST_SHOWN]])
    ]
    return {"tables": [Table("answers", _CAPTION, _COLUMNS, list(_rows(found)))], "shown": shown}


_CAPTION = (
    "With 95 % bootstrap intervals over paragraphs. A question counts with its worst copy. Clean: the same "
    "questions without tampering."
)
_COLUMNS = (
    Column("Model", numeric=False),
    Column("File", numeric=False),
    Column("Questions"),
    Column("F1"),
    Column("EM"),
    Column("Clean F1"),
    Column("Drop of F1"),
    Column("EM lost", meaning="of the questions that were answered exactly and have copies"),
    Column("EM lost, re-verified", meaning="by most fresh answers of a predictor that draws noise"),
)


def _rows(found: list[tuple[ModelEvidence, NamedResult]]) -> Iterator[list[TableCell]]:
    for model, one in found:
        clean, name = one.found["clean"], tables.words(one.of(model.name))
        yield [
            name,
            tables.words(str(clean["source"])),
            tables.whole(clean["examples"]),
            _mean(clean, "f1"),
            _mean(clean, "exact_match"),
            *[tables.NOTHING] * 4,
        ]
        for part in one.found["adversarial"]:
            copies = f"{part['attacked']:,} with {part['copies']:,} copies"
            yield [
                name,
                tables.words(str(part["source"])),
                tables.whole(part["questions"], copies),
                _mean(part, "robust_f1"),
                _mean(part, "robust_exact_match"),
                _mean(part, "clean_f1"),
                _mean(part, "drop_f1"),
                tables.share(part["asr_exact_match"]),
                tables.share(part.get("asr_exact_match_verified")),
            ]


def _mean(found: JsonMapping, name: str) -> TableCell:
    if name not in found:
        return tables.NOTHING
    return tables.share({"value": found[name], "interval": found[f"{name}_interval"]})


def _example(own: JsonMapping) -> JsonObject:
    """A question, its context with the right answer, the given one and the distractor marked."""
    worst, clean = own["worst"], own["clean"]
    context = worst["context"]
    right = [
        (at, at + len(answer)) for answer in worst["truth"] if answer and (at := context.find(answer)) >= 0
    ]
    added = _added(clean["context"], context) if clean else None
    layers = [
        ("added", [added] if added else []),
        ("right", right[:1]),
        ("given", [tuple(worst["span"])] if worst["span"] and worst["answer"] else []),
    ]
    return {
        "question": visible(worst["question"]),
        "context": layered(context, layers),
        "answer": visible(worst["answer"]) or "(no answer)",
        "clean": visible(clean["answer"]) or "(no answer)" if clean else "",
        "truth": [visible(answer) for answer in worst["truth"]],
        "f1": worst["f1"],
    }


def _added(before: str, after: str) -> tuple[int, int] | None:
    """What stands in ``after`` only: between what both begin with and what both end with."""
    start = _shared(before, after)
    rest = min(len(before), len(after)) - start
    end = _shared(before[::-1][:rest], after[::-1][:rest])
    return (start, len(after) - end) if start < len(after) - end else None


def _shared(first: str, second: str) -> int:
    """How many characters both begin with."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(first), len(second)))


SECTION = Section("answers", "Questions", content)
