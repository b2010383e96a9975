"""The report: from plain data about models to a page, or to tables in other formats.

``unfooled.run.report.write_report`` reads the folders; this room only shows what it is given.
"""

from unfooled.evaluate.report.data import Attack, Benchmark, Certified, Model, ReportData
from unfooled.evaluate.report.formats import SUFFIXES, write_tables
from unfooled.evaluate.report.page import filled_sections, render, title

__all__ = [
    "SUFFIXES",
    "Attack",
    "Benchmark",
    "Certified",
    "Model",
    "ReportData",
    "filled_sections",
    "render",
    "title",
    "write_tables",
]
