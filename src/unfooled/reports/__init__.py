"""The report: from plain data about models to a page, or to tables in other formats.

``unfooled.api.report`` reads the folders; this room only shows what it is given.
"""

from unfooled.reports.formats import SUFFIXES, write_tables
from unfooled.reports.page import filled_sections, render, title
from unfooled.reports.sentences import verdict_sentences

__all__ = [
    "SUFFIXES",
    "filled_sections",
    "render",
    "title",
    "verdict_sentences",
    "write_tables",
]
