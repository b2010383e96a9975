"""Cells of a benchmark that have no result, each with its reason."""

from __future__ import annotations

from unfooled.records.evidence import Evidence
from unfooled.reports import tables
from unfooled.reports.section import Content, Section
from unfooled.reports.tables import Column, Table


def content(data: Evidence) -> Content:
    rows = [
        [
            tables.words(benchmark.name),
            tables.words(str(cell.get("name", "")), str(cell.get("kind", ""))),
            tables.words(str(cell.get("status", ""))),
            tables.words(str(cell.get("message") or tables.ABSENT)),
        ]
        for benchmark in data.benchmarks
        for cell in benchmark.cells
        if cell.get("status") != "done"
    ]
    if not rows:
        return None
    columns = [Column(title, numeric=False) for title in ("Benchmark", "TableCell", "State", "Reason")]
    return {"tables": [Table("unfinished", "Parts of the benchmark without a result.", columns, rows)]}


SECTION = Section("unfinished", "Not finished", content)
