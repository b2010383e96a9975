"""Confusion matrices; the template reads them from the runs."""

from __future__ import annotations

from unfooled.records.evidence import Evidence
from unfooled.reports.section import Content, Section


def content(data: Evidence) -> Content:
    return {} if any(run.confusion for run in data.runs) else None


SECTION = Section("mistakes", "Where it errs", content)
