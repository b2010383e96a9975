"""The example browser: every attacked, certified and predicted text with what each model made of it.

The page gets the records as data and a small script shows them, so a thousand texts stay light. Without a
script some texts that changed an answer are listed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from unfooled.files import JsonObject
from unfooled.records.certificate import Certificate
from unfooled.records.evidence import Attack, Certified, Evidence, ModelEvidence
from unfooled.records.outcome import Outcome
from unfooled.records.results.trained_run import Sample
from unfooled.records.textattack_log import word_edits
from unfooled.reports.attacked_questions import CONTEXT, as_html, record_of, said, truth_text
from unfooled.reports.formatting import visible
from unfooled.reports.marked import highlighted, layered
from unfooled.reports.section import Content, Section

MAX_TEXT = 4000
"""Characters of a text that are shown."""
MAX_BYTES = 3_200_000
"""Of all records together; further texts stay in the journals."""
MAX_LISTED = 20

OUTCOMES = {
    "fooled": "fooled",
    "once": "fooled once, not confirmed",
    "held": "held",
    "skipped": "wrong without attack",
    "not-attackable": "nothing to change",
    "refused": "refused",
    "error": "attack broke",
    "certified": "certified, right",
    "certified-wrong": "certified, wrong",
    "certified-unknown": "certified",
    "abstained": "not certified",
    "right": "clean, right",
    "wrong": "clean, wrong",
    "none": "clean, no answer",
    "unknown": "clean, truth not given",
}
"""What can become of a text, in words."""

Line = JsonObject


def content(data: Evidence) -> Content:
    if not data.attacked and not data.certified:
        return None
    texts: dict[tuple[str, ...], Line] = {}
    for number, model in enumerate(data.models):
        for key, truth, row, record in _records(model):
            item = texts.setdefault(
                key, {"text": [visible(t[:MAX_TEXT]) for t in key], "truth": truth, "row": row}
            )
            if right := record.pop("right", None):
                item["right"] = right
            if any(len(text) > MAX_TEXT for text in key):
                item["cut"] = True
            item.setdefault("records", []).append({"model": number, **record})
    kept, size = [], 0
    for item in texts.values():
        size += len(json.dumps(item, ensure_ascii=False).encode("utf-8", "replace"))
        if size > MAX_BYTES:
            break
        kept.append(item)
    every = [record for item in kept for record in item["records"]]
    return {
        "total": len(texts),
        "shown": len(kept),
        "listed": list(_listed(data)),
        "payload": {
            "thing": data.things.removesuffix("s"),
            "models": [model.name for model in data.models],
            "ways": list(dict.fromkeys(record["way"] for record in every)),
            "outcomes": {
                name: OUTCOMES[name] for name in OUTCOMES if any(r["outcome"] == name for r in every)
            },
            "items": kept,
        },
    }


def _records(model: ModelEvidence) -> Iterator[tuple[tuple[str, ...], str | None, int | None, Line]]:
    """(text or texts, truth, row, what became of it)."""
    for attack in model.attacks:
        for outcome in attack.outcomes:
            truth = _label(attack, outcome.truth)
            if outcome.question is not None:
                truth = truth_text(outcome.question)
            yield tuple(outcome.original), truth, outcome.row, _attacked(attack, outcome)
    for found in model.certified:
        for certificate in found.certificates:
            own = tuple(certificate.texts) or (certificate.shown,)
            yield own, certificate.truth, certificate.row, _proved(found, certificate)
    for sample in model.run.samples if model.run else ():
        key = (sample.text,) if sample.pair is None else (sample.text, sample.pair)
        yield key, sample.truth, None, _predicted(sample)


def _label(attack: Attack, number: int | None) -> str | None:
    return None if number is None or not 0 <= number < len(attack.labels) else str(attack.labels[number])


def _attacked(attack: Attack, outcome: Outcome) -> Line:
    name = {"success": "fooled" if outcome.verified else "once", "failed": "held"}
    record: Line = {
        "way": attack.name,
        "outcome": name.get(outcome.status, outcome.status),
        "before": _label(attack, outcome.first_label),
        "queries": outcome.queries,
        "forwards": outcome.forwards,
    }
    if attack.goal == "obstinate":
        record["obstinate"] = True
    if outcome.question is not None:
        record |= record_of(outcome, MAX_TEXT)
        record["right"] = [[CONTEXT, *place] for place in outcome.question.right if place[1] <= MAX_TEXT]
    elif outcome.perturbed is not None:
        record["after"] = _label(attack, outcome.label)
        record["edits"] = [
            [edit.original_place[0], edit.original_place[1], edit.original_place[2], visible(edit.after)]
            for which, pair in enumerate(zip(outcome.original, outcome.perturbed, strict=True))
            for edit in word_edits(which, *pair)
            if edit.original_place[2] <= MAX_TEXT
        ]
    if outcome.fresh_successes is not None:
        record["fresh"] = [outcome.fresh_successes, outcome.fresh_total]
    if outcome.similarity is not None:
        record["similarity"] = round(outcome.similarity, 3)
    if outcome.message:
        record["message"] = visible(outcome.message)
    return record


def _proved(found: Certified, certificate: Certificate) -> Line:
    outcome: str = certificate.status
    if outcome == "certified" and certificate.correct is not True:
        outcome = "certified-unknown" if certificate.correct is None else "certified-wrong"
    record: Line = {
        "way": f"certificate, {found.threat}",
        "outcome": outcome,
        "sentence": visible(certificate.sentence or certificate.message),
    }
    if certificate.votes:
        record["votes"] = [{label: votes for label, votes in certificate.votes.items() if votes}]
    if certificate.antonym_examples:
        record["antonyms"] = [list(pair) for pair in certificate.antonym_examples]
    return record


def _predicted(sample: Sample) -> Line:
    record: Line = {"way": "clean", "outcome": sample.outcome, "before": sample.label}
    if sample.votes:
        record["votes"] = [dict(stage) for stage in sample.votes]
    if sample.masked:
        record["masked"] = [list(span) for span in sample.masked if span[2] <= MAX_TEXT]
    if sample.forwards:
        record["forwards"] = sample.forwards
    if sample.refused:
        record["message"] = visible(sample.refused)
    return record


def _listed(data: Evidence) -> Iterator[Line]:
    """Some successes of every attack, with what changed marked, for pages without a script."""
    attacks = [(model, one) for model in data.models for one in model.attacks]
    each = max(1, MAX_LISTED // max(1, len(attacks)))
    for model, attack in attacks:
        for outcome in [one for one in attack.outcomes if one.verified and one.perturbed][:each]:
            if outcome.question is not None:
                yield {
                    "who": f"{model.name}, {attack.name}",
                    "before": said(outcome.question.before),
                    "after": said(outcome.question.after),
                    "original": [
                        visible(outcome.original[0]),
                        layered(visible(outcome.original[CONTEXT]), [("right", outcome.question.right)]),
                    ],
                    "perturbed": [as_html(outcome)],
                }
                continue
            perturbed = outcome.perturbed or ()
            edits = [
                word_edits(which, *pair)
                for which, pair in enumerate(zip(outcome.original, perturbed, strict=True))
            ]
            yield {
                "who": f"{model.name}, {attack.name}",
                "before": _label(attack, outcome.first_label),
                "after": _label(attack, outcome.label),
                "original": [
                    highlighted(text, [edit.original_place[1:] for edit in own])
                    for text, own in zip(outcome.original, edits, strict=True)
                ],
                "perturbed": [
                    highlighted(text, [edit.perturbed_place[1:] for edit in own])
                    for text, own in zip(perturbed, edits, strict=True)
                ],
            }


SECTION = Section("examples", "Examples", content)
