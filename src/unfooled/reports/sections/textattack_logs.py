"""Results that TextAttack logged: the rates, and the texts that changed an answer."""

from __future__ import annotations

from markupsafe import Markup

from unfooled.records.evidence import Evidence
from unfooled.records.textattack_log import TextAttackResults, TextAttackRow
from unfooled.reports import tables
from unfooled.reports.marked import highlighted
from unfooled.reports.section import Content, Section
from unfooled.reports.tables import Column, Table

MAX_ATTACKED = 50


def content(data: Evidence) -> Content:
    if not data.textattack:
        return None
    shown = []
    for results in data.textattack:
        won = [row for row in results.rows if row.result == "Successful"]
        texts = [
            {"row": row, "original": _before(row), "perturbed": _after(row)} for row in won[:MAX_ATTACKED]
        ]
        shown.append({"file": results.file, "texts": texts, "won": len(won)})
    return {"files": shown, "tables": [_table(data.textattack)]}


def _table(files: tuple[TextAttackResults, ...]) -> Table:
    columns = [
        Column("File", numeric=False),
        Column("Inputs"),
        Column("SAcc"),
        Column("RAcc"),
        Column("ASR"),
        Column("Queries"),
    ]
    rows = []
    for results in files:
        found = results.summary()
        said = f"{found['successful']:,} changed, {found['failed']:,} held, {found['skipped']:,} skipped"
        rows.append(
            [
                tables.words(results.file),
                tables.whole(found["examples"], said),
                *(tables.share(found[name]) for name in ("sacc", "racc", "asr")),
                tables.TableCell(found["avg_queries"], f"{found['avg_queries']:,.1f}")
                if found["avg_queries"] is not None
                else tables.NOTHING,
            ]
        )
    return Table("textattack", "With 95 % intervals (Wilson).", columns, rows)


def _before(row: TextAttackRow) -> list[Markup]:
    return [
        highlighted(text, [edit.original_place[1:] for edit in row.edits if edit.original_place[0] == which])
        for which, text in enumerate(row.original)
    ]


def _after(row: TextAttackRow) -> list[Markup]:
    return [
        highlighted(
            text, [edit.perturbed_place[1:] for edit in row.edits if edit.perturbed_place[0] == which]
        )
        for which, text in enumerate(row.perturbed)
    ]


SECTION = Section("textattack", "TextAttack results", content)
