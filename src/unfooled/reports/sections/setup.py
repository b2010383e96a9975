"""Configuration as given, settings in force, versions; the template reads them from the runs."""

from __future__ import annotations

from unfooled.records.evidence import Evidence
from unfooled.reports.section import Content, Section


def content(data: Evidence) -> Content:
    return {} if data.runs else None


SECTION = Section("setup", "Configuration and versions", content)
