"""Confusion matrices; the template reads them from the runs."""

from __future__ import annotations

from unfooled.records.evidence import ReportData
from unfooled.reports.section import Content, Section


def content(data: ReportData) -> Content:
    return {} if data.runs else None


SECTION = Section("mistakes", "Where it errs", content)
