"""Numbers with intervals, tables, figures and pages, from results only."""

from unfooled.evaluate.intervals import clopper_pearson, wilson
from unfooled.evaluate.metrics import classification_metrics

__all__ = ["classification_metrics", "clopper_pearson", "wilson"]
