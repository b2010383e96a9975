"""The table of a benchmark, from results on disk."""

from __future__ import annotations

from unfooled.benchmarks.result_tables import _certificate
from unfooled.records.certificate import Certificate
from unfooled.records.summaries.certificate_summary import certificate_summary


def test_shares_stand_beside_the_inputs_that_were_answered() -> None:
    made = [Certificate(row, "certified", "words", radius=1, unit="words", correct=True) for row in range(3)]
    refused = [Certificate(9, "refused", "words", message="empty")]
    result = {"threat": "words", "sampling": {"alpha": 0.001}, "summary": certificate_summary(made + refused)}
    row = _certificate([result])
    assert row["inputs"] == 3 and row["certified_accuracy"]["mean"] == 1.0
