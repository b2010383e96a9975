"""The demo: a preset plan (``presets/demo.yaml``), a few sentences to answer, and the page about them.

Everything is cut short: the intervals are wide, and shown. Run it again and finished parts are used as they
are; an interrupted one goes on.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from unfooled.benchmarks.cells import Cell, make_cells
from unfooled.benchmarks.plan_file import read_plan
from unfooled.benchmarks.run import Watch, benchmark, write_page
from unfooled.benchmarks.sweep import OnCell
from unfooled.errors import UserError
from unfooled.files import JsonMapping, JsonObject, read_json, write_text
from unfooled.records.shapes.benchmark_shapes import CellMetrics
from unfooled.records.shapes.result_shapes import AttackShape, CertificatesShape

ASSETS = ("minilm", "news", "wordnet", "tagger")
TEST_TEXTS = 6
PREDICTIONS = "predictions.jsonl"
SENTENCES: tuple[tuple[str, str], ...] = (
    ("The striker scored twice as the champions won the final.", "sports"),
    ("The strlker scoerd twice as the champinos won the fimal.", "sports"),
    ("Shares in the airline fell after it warned of lower profits.", "business"),
    ("The singer won three awards for her first album.", "entertainment"),
    ("The former actor signed the tax bill as governor on Tuesday.", "politics"),
    ("Downloads of the film crashed the company's servers.", "tech"),
)
"""Written for the demo: a plain one, the same with typos, two clear ones, two that could be another topic."""
INTRUDERS = {
    "sports": "goalkeeper",
    "politics": "parliament",
    "entertainment": "guitarist",
    "tech": "software",
    "business": "dividends",
}
"""A word of each topic: what a certified text is edited with."""


@dataclass(frozen=True)
class CertifiedText:
    """A test text, the edits that its certificate covers, and one way to spend them all."""

    run: str
    text: str
    label: str
    edits: int
    edited: str


@dataclass(frozen=True)
class DemoResult:
    """What the demo left behind."""

    report: Path
    runs: tuple[Path, ...]
    summaries: tuple[JsonObject, ...]
    attacks: dict[str, dict[str, JsonObject]]
    """By model and recipe: the attack's summary."""
    certificates: dict[str, JsonObject]
    """By model: the summary of its certificates."""
    check: CertifiedText | None
    """The text to check a certificate with; None if no right answer is certified for an edit."""
    seconds: float

    def to_dict(self) -> JsonObject:
        return {
            "report": str(self.report),
            "runs": list(self.summaries),
            "attacks": self.attacks,
            "certificates": self.certificates,
            "check": None if self.check is None else asdict(self.check),
            "seconds": self.seconds,
        }


def demo(
    out: str | Path | None = None,
    *,
    quick: bool = False,
    on_cell: OnCell | None = None,
    watch: Watch | None = None,
) -> DemoResult:
    """Train, attack, certify and write ``report.html`` into ``out`` (demo, or demo-quick).

    The page is written after every cell.

    ``on_cell`` and ``watch`` hear of the progress, as in :func:`unfooled.benchmark`.
    """
    from unfooled import assets

    started = time.perf_counter()
    plan = read_plan(preset="demo-quick" if quick else "demo")
    folder = Path(plan.name if out is None else out)
    cells = make_cells(plan, folder)

    def hear(cell: Cell, records: Sequence[JsonMapping]) -> None:
        if cell.kind == "train":
            write_predictions(cell)
        states = {record["name"]: record["status"] for record in records}
        if states[cell.name] == "done" and set(states.values()) != {"done"}:  # the whole one comes at the end
            write_page(folder)
        if on_cell:
            on_cell(cell, records)

    for name in ASSETS:
        assets.path(name)
    for cell in cells:  # of a demo that was stopped between a training and its predictions
        if cell.kind == "train":
            write_predictions(cell)
    result = benchmark(plan, folder, on_cell=hear, watch=watch)
    left = [record for record in result["cells"] if record["status"] != "done"]
    if left or result["report"] is None:
        reason = left[0]["name"] + ": " + left[0]["message"] if left else result["report_problem"]
        raise UserError(f"The demo is not complete ({reason}). Run it again: finished parts are kept.")
    return _told(cells, Path(result["report"]), time.perf_counter() - started)


def write_predictions(cell: Cell) -> None:
    """``predictions.jsonl``: the demo's sentences and the first test texts, not picked, with the truth."""
    if not cell.result.is_file() or (cell.run / PREDICTIONS).is_file():
        return
    from unfooled.api.load import load
    from unfooled.training.data import load_data

    config = cell.config
    classifier = load(cell.run, device=config.device, precision=config.precision)
    test = load_data(config).test[:TEST_TEXTS]
    rows = [(text, truth, "written for this demo") for text, truth in SENTENCES]
    rows += [
        (text, classifier.labels[label], "test set")
        for text, label in zip(test["text"], test["label"], strict=True)
    ]
    answers = classifier.predict([text for text, _, _ in rows], seed=config.seed)
    lines = [
        json.dumps(
            {"text": text, "truth": truth, "source": source, **answer.to_dict()},
            ensure_ascii=False,
            allow_nan=False,
        )
        for (text, truth, source), answer in zip(rows, answers, strict=True)
    ]
    write_text(cell.run / PREDICTIONS, "\n".join(lines) + "\n")


def certified_text(cell: Cell) -> CertifiedText | None:
    """Of the answers of ``cell`` that are right, the one certified for the most edits.

    Of several, a text that can stand in a command as it is, and the shortest.
    """
    from unfooled.api.jobs.certify_job import read_certificates

    every = read_certificates(cell.result.parent).certificates
    found = [one for one in every if one.correct and one.radius >= 1]
    if not found:
        return None
    best = max(found, key=lambda one: (one.radius, '"' not in one.texts[0], -len(one.texts[0])))
    text, label, edits = best.texts[0], str(best.label), int(best.radius)
    return CertifiedText(str(cell.run), text, label, edits, edited(text, label, edits))


def edited(text: str, label: str, edits: int) -> str:
    """The text with its longest words, ``edits`` of them, replaced by words of other topics."""
    words = text.split()
    longest = sorted(range(len(words)), key=lambda place: -len(words[place]))[:edits]
    others = [word for topic, word in INTRUDERS.items() if topic != label]
    for number, place in enumerate(sorted(longest)):
        words[place] = others[number % len(others)]
    return " ".join(words)


def _told(cells: Sequence[Cell], report: Path, seconds: float) -> DemoResult:
    models = [cell for cell in cells if cell.kind == "train"]
    attacks: dict[str, dict[str, JsonObject]] = {}
    certificates: dict[str, JsonObject] = {}
    check = None
    for cell in cells:
        if cell.kind == "attack":
            attacks.setdefault(cell.defence, {})[str(cell.what)] = read_json(cell.result, AttackShape)[
                "summary"
            ]
        elif cell.kind == "certify":
            certificates[cell.defence] = read_json(cell.result, CertificatesShape)["summary"]
            check = check or certified_text(cell)
    tests = [read_json(cell.run / "metrics.json", CellMetrics)["test"] for cell in models]
    return DemoResult(
        report=report,
        runs=tuple(cell.run for cell in models),
        summaries=tuple(
            {
                "run": str(cell.run),
                "defence": cell.defence,
                "accuracy": test["accuracy"],
                "accuracy_interval": test["accuracy_interval"],
                "examples": test["examples"],
            }
            for cell, test in zip(models, tests, strict=True)
        ),
        attacks=attacks,
        certificates=certificates,
        check=check,
        seconds=seconds,
    )
