"""The predictions kept in the run folders, the answers of all runs to a text together.

Where there are attacks or certificates, the example browser shows them instead.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from unfooled.records.evidence import Evidence
from unfooled.records.results.trained_run import Run, Sample
from unfooled.reports.marked import highlighted
from unfooled.reports.section import Content, Section

MAX_SAMPLES = 200


def content(data: Evidence) -> Content:
    runs = data.runs
    texts: dict[tuple[str, str | None], list[tuple[Run, Sample]]] = {}
    for run in runs:
        for sample in run.samples:
            texts.setdefault((sample.text, sample.pair), []).append((run, sample))
    if not texts or data.attacked or data.certified:
        return None
    known = [(run, one) for run in runs for one in run.samples if one.truth is not None]
    return {
        "total": len(texts),
        "texts": [
            {
                "text": _marked(text, [one for _, one in answers], 0),
                "pair": None if pair is None else _marked(pair, [one for _, one in answers], 1),
                "truth": next((one.truth for _, one in answers if one.truth is not None), None),
                "source": answers[0][1].source,
                "answers": answers,
            }
            for (text, pair), answers in list(texts.items())[:MAX_SAMPLES]
        ],
        "right": {
            run.name: sum(one.outcome == "right" for other, one in known if other is run) for run in runs
        },
        "known": {run.name: sum(other is run for other, _ in known) for run in runs},
    }


def _marked(text: str, answers: Sequence[Sample], which: int) -> Markup:
    """The text with the words that any of the answers masked marked."""
    return highlighted(text, sorted({(s, e) for one in answers for w, s, e in one.masked if w == which}))


SECTION = Section("samples", "Sample predictions", content)
