"""Confusion matrices; the template reads them from the runs."""

from __future__ import annotations

from unfooled.evaluate.report.data import ReportData
from unfooled.evaluate.report.section import Content, Section


def content(data: ReportData) -> Content:
    return {} if data.runs else None


SECTION = Section("mistakes", "Where it errs", content)
