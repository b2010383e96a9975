"""Outcomes of attacks as a file for other tools: JSON lines, CSV or Parquet, one row per example."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from unfooled.errors import UsageError
from unfooled.files import cannot_write, write_text
from unfooled.records.image_change import ImageChange
from unfooled.records.outcome import Outcome
from unfooled.untrusted import csv_text

SUFFIXES = (".csv", ".jsonl", ".parquet")


def check_export(path: str | Path) -> Path:
    """The path, if its ending names a format that can be written."""
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(
            f"--export {path}: the name must end in {', '.join(SUFFIXES)}, which says the format."
        )
    return path


def export_outcomes(
    path: str | Path, attacks: Mapping[str, Sequence[Outcome]], labels: Sequence[str]
) -> None:
    """Write the outcomes of one or more recipes; the file is whole or absent.

    >>> export_outcomes("results.csv", {"pwws": report.outcomes}, report.labels)
    """
    path = check_export(path)
    rows = [outcome_row(recipe, one, labels) for recipe, outcomes in attacks.items() for one in outcomes]
    if path.suffix.lower() == ".jsonl":
        write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    elif path.suffix.lower() == ".csv":
        told = ({**row, "changes": json.dumps(row["changes"], ensure_ascii=False)} for row in rows)
        write_text(path, csv_text(list(COLUMNS), ([row[name] for name in COLUMNS] for row in told)))
    else:
        _write_parquet(path, rows)


COLUMNS = {
    "recipe": "string",
    "row": "int64",
    "status": "string",
    "label": "string",
    "text": "string",
    "text_pair": "string",
    "first_answer": "string",
    "answer": "string",
    "perturbed": "string",
    "perturbed_pair": "string",
    "changes": "changes",
    "words": "int64",
    "changed_words": "int64",
    "queries": "int64",
    "forwards": "int64",
    "similarity": "double",
    "pos_valid": "bool",
    "verified": "bool",
    "fresh_successes": "int64",
    "fresh_total": "int64",
    "budget_spent": "bool",
    "limit_hit": "string",
    "tried": "bool",
    "seconds": "double",
    "message": "string",
    "norm": "string",
    "size": "double",
    "distance": "double",
    "gradients": "int64",
    "found_by": "string",
    "id": "string",
    "f1_before": "double",
    "f1_after": "double",
    "exact_match_before": "double",
    "exact_match_after": "double",
    "added": "string",
}
"""The columns of :func:`outcome_row` and their types in a file."""


def outcome_row(recipe: str, outcome: Outcome, labels: Sequence[str]) -> dict[str, object]:
    """One outcome as a flat row, for frames and files."""
    success = outcome.status == "success"
    text, pair = _two(outcome.original)
    perturbed, perturbed_pair = _two(outcome.perturbed or ())
    return {
        "recipe": recipe,
        "row": outcome.row,
        "status": outcome.status,
        "label": _named(outcome.truth, labels),
        "text": text,
        "text_pair": pair,
        "first_answer": _named(outcome.first_label, labels),
        "answer": _named(outcome.label, labels),
        "perturbed": perturbed,
        "perturbed_pair": perturbed_pair,
        "changes": [[_clean(change.before), _clean(change.after)] for change in outcome.changes],
        "words": outcome.words,
        "changed_words": len(outcome.changes) if success else None,
        "queries": outcome.queries,
        "forwards": outcome.forwards,
        "similarity": outcome.similarity,
        "pos_valid": outcome.pos_valid,
        "verified": outcome.verified if success else None,
        "fresh_successes": outcome.fresh_successes,
        "fresh_total": outcome.fresh_total,
        "budget_spent": outcome.budget_spent,
        "limit_hit": outcome.limit_hit or None,
        "tried": outcome.tried,
        "seconds": outcome.seconds,
        "message": _clean(outcome.message),
        **_of_image(outcome.image),
        **_of_question(outcome),
    }


def _of_image(change: ImageChange | None) -> dict[str, object]:
    """What only attacks on images have; empty for texts."""
    if change is None:
        return dict.fromkeys(("norm", "size", "distance", "gradients", "found_by"))
    return {
        "norm": change.norm,
        "size": change.size,
        "distance": change.distance,
        "gradients": change.gradients,
        "found_by": change.found_by or None,
    }


def _of_question(outcome: Outcome) -> dict[str, object]:
    """What only attacks on questions have; their answers are texts."""
    change = outcome.question
    if change is None:
        names = ("f1_before", "f1_after", "exact_match_before", "exact_match_after")
        return dict.fromkeys(("id", *names, "added"))
    before, after = change.before, change.after
    return {
        "label": _clean(" / ".join(dict.fromkeys(change.truth))),
        "first_answer": None if before is None or before.abstained else _clean(before.text),
        "answer": None if after is None or after.abstained else _clean(after.text),
        "id": _clean(change.id),
        "f1_before": None if before is None else before.f1,
        "f1_after": None if after is None else after.f1,
        "exact_match_before": None if before is None else before.exact_match,
        "exact_match_after": None if after is None else after.exact_match,
        "added": _clean((outcome.perturbed or ("", ""))[1][slice(*change.added)]) if change.added else None,
    }


def _two(texts: Sequence[str]) -> tuple[str | None, str | None]:
    first, second, *_ = (*map(_clean, texts), None, None)
    return first, second


def _named(number: int | None, labels: Sequence[str]) -> str | None:
    if number is None:
        return None
    return labels[number] if number < len(labels) else str(number)


def _clean(text: str) -> str:
    """Half characters (of refused rows) cannot be written."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _write_parquet(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    kinds = {"changes": pa.list_(pa.list_(pa.string()))}
    schema = pa.schema([(name, kinds.get(kind) or pa.type_for_alias(kind)) for name, kind in COLUMNS.items()])
    table = pa.Table.from_pylist(list(rows), schema=schema)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(table, beside)
        os.replace(beside, path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise cannot_write(path, error) from error
