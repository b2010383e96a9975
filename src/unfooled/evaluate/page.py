"""The report: one self-contained HTML page about trained runs, made from the files of their folders.

>>> html = render([read_run("runs/plain"), read_run("runs/rsmi")])

A section is a function from the runs to what its template shows, or None where there is no data for it.
A new section is that function, ``templates/<anchor>.html.j2`` and one line in ``SECTIONS``.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from unfooled import __version__
from unfooled.evaluate import figures
from unfooled.evaluate.results import Run, Sample
from unfooled.evaluate.textattack_csv import TextAttackResults

MAX_SAMPLES = 200
MAX_TEXT = 1500
MAX_ATTACKED = 50
Content = dict[str, Any] | None


@dataclass(frozen=True)
class Section:
    """One part of the page."""

    anchor: str
    """Its id on the page and the name of its template."""
    title: str
    content: Callable[[Sequence[Run]], Content]


def render(
    runs: Sequence[Run],
    *,
    textattack: Sequence[TextAttackResults] = (),
    written: datetime | None = None,
) -> str:
    """The page as text; every character that comes from data is shown, none is run."""
    runs = _distinct_names(runs)
    found = [(part.anchor, part.title, part.content(runs)) for part in SECTIONS] if runs else []
    if textattack:
        found.insert(1 if runs else 0, ("textattack", "TextAttack results", attacked(textattack)))
    sections = [
        {"anchor": anchor, "title": title, "content": content}
        for anchor, title, content in found
        if content is not None
    ]
    files = [*(run.folder for run in runs), *(results.file for results in textattack)]
    html = (
        _environment()
        .get_template("page.html.j2")
        .render(
            title=_title(runs) if runs else "TextAttack results",
            runs=runs,
            slots=_slots(runs),
            sections=sections,
            textattack=textattack,
            command=shlex.join(["unfooled", "report", *files, "--out", "report.html"]),
            version=__version__,
            written=written or datetime.now(timezone.utc),
        )
    )
    return html.translate(_VISIBLE)


def verdict(runs: Sequence[Run]) -> Content:
    """Each model on the clean test texts, and the sentence that sums it up."""
    best = max(runs, key=lambda run: run.accuracy)
    return {
        "best": best,
        "comparable": len({(run.task, run.examples) for run in runs}) == 1,
        "no_better": [run for run in runs if run.majority is not None and run.low <= run.majority],
        "overlapping": [run for run in runs if run is not best and run.high >= best.low],
        "bars": {
            run.name: figures.accuracy_bar(
                run.accuracy, run.low, run.high, reference=run.majority, slot=_slots(runs)[run.name]
            )
            for run in runs
        },
    }


def attacked(files: Sequence[TextAttackResults]) -> Content:
    """Results that TextAttack logged: the rates, and the texts that changed an answer."""
    shown = []
    for results in files:
        won = [row for row in results.rows if row.result == "Successful"]
        texts = [
            {
                "row": row,
                "original": [
                    _highlighted(
                        text, [e.original_place[1:] for e in row.edits if e.original_place[0] == which]
                    )
                    for which, text in enumerate(row.original)
                ],
                "perturbed": [
                    _highlighted(
                        text, [e.perturbed_place[1:] for e in row.edits if e.perturbed_place[0] == which]
                    )
                    for which, text in enumerate(row.perturbed)
                ],
            }
            for row in won[:MAX_ATTACKED]
        ]
        shown.append({"file": results.file, "summary": results.summary(), "texts": texts, "won": len(won)})
    return {"files": shown}


def mistakes(runs: Sequence[Run]) -> Content:
    """Confusion matrices."""
    return {}


def training(runs: Sequence[Run]) -> Content:
    """Loss and dev accuracy over the epochs, drawn where there are two points or more."""
    charts = []
    for title, name in (("Training loss", "losses"), ("Dev accuracy", "dev")):
        series = [
            figures.Series(run.name, getattr(run, name), _slots(runs)[run.name])
            for run in runs
            if len(getattr(run, name)) > 1
        ]
        if series:
            percent = name == "dev"
            charts.append({"title": title, "svg": figures.line_chart(series, title=title, percent=percent)})
    best = [(run, *max(run.dev, key=lambda point: point[1])) for run in runs if run.dev]
    return {"charts": charts, "best": best} if charts or best else None


def samples(runs: Sequence[Run]) -> Content:
    """The predictions kept in the run folders, the answers of all runs to a text together."""
    texts: dict[tuple[str, str | None], list[tuple[Run, Sample]]] = {}
    for run in runs:
        for sample in run.samples:
            texts.setdefault((sample.text, sample.pair), []).append((run, sample))
    if not texts:
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


def setup(runs: Sequence[Run]) -> Content:
    """Configuration as given, settings in force, versions."""
    return {}


def reproduce(runs: Sequence[Run]) -> Content:
    """The command that makes each run again; the one that makes this page is the template's own."""
    return {
        "commands": [
            {
                "run": run,
                "command": shlex.join(
                    [
                        "unfooled",
                        "train",
                        "--config",
                        f"{run.folder}/config.yaml",
                        "--out",
                        f"{run.folder}-again",
                    ]
                ),
            }
            for run in runs
            if run.config_text
        ],
    }


def untested(runs: Sequence[Run]) -> Content:
    """What nobody should read into this page."""
    return {"small": [run for run in runs if run.high - run.low > 0.1]}


SECTIONS = (
    Section("verdict", "Verdict", verdict),
    Section("mistakes", "Where it errs", mistakes),
    Section("samples", "Sample predictions", samples),
    Section("training", "Training", training),
    Section("setup", "Configuration and versions", setup),
    Section("reproduce", "How to reproduce", reproduce),
    Section("untested", "What was not tested", untested),
)


def _marked(text: str, answers: Sequence[Sample], which: int) -> Markup:
    """The text with the words that any of the answers masked marked, cut if it is very long."""
    return _highlighted(text, sorted({(s, e) for one in answers for w, s, e in one.masked if w == which}))


def _highlighted(text: str, spans: Sequence[tuple[int, int]]) -> Markup:
    """The text with these stretches marked, cut if it is very long."""
    result, position = Markup(""), 0
    for start, end in spans:
        if position <= start < end <= MAX_TEXT:
            result += Markup("{}<mark>{}</mark>").format(text[position:start], text[start:end])
            position = end
    result += Markup("{}").format(text[position:MAX_TEXT])
    if len(text) <= MAX_TEXT:
        return result
    return result + Markup('… <span class="note">({} more characters)</span>').format(
        f"{len(text) - MAX_TEXT:,}"
    )


def _distinct_names(runs: Sequence[Run]) -> list[Run]:
    """Runs whose folders have the same name go by their whole path."""
    names = [run.name for run in runs]
    return [run if names.count(run.name) == 1 else replace(run, name=run.folder) for run in runs]


def _slots(runs: Sequence[Run]) -> dict[str, int]:
    """The colour of each run, the same in every figure."""
    return {run.name: index % figures.SLOTS + 1 for index, run in enumerate(runs)}


def _title(runs: Sequence[Run]) -> str:
    names = [run.name for run in runs]
    who = (
        f"{len(names)} models"
        if len(names) > 3
        else " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    )
    tasks = sorted({run.task for run in runs})
    return f"{who} on {' and '.join(tasks) if len(tasks) < 3 else f'{len(tasks)} tasks'}"


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("unfooled.evaluate"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": percent, "duration": duration}
    return environment


def percent(share: float) -> str:
    """``83.9 %`` with a space that does not break."""
    return f"{share * 100:.1f}\N{NO-BREAK SPACE}%"


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.0f} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


# HTML has no place for control characters and lone surrogates: they are shown as signs.
_VISIBLE = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"}
_VISIBLE |= {0x7F: 0x2421} | dict.fromkeys((*range(128, 160), *range(55296, 57344)), 65533)
