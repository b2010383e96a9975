"""The demo: from nothing to a page a person can look at, in minutes on two cores.

Each defence is trained on ``movie-reviews``, measured on the test texts and asked about a dozen sentences;
then one HTML page shows them all. Run it again and finished runs are used as they are; an interrupted one
goes on as `unfooled train` does. To grow the demo, add a defence to ``DEFENCES`` and, if it needs other
settings than its defaults, to ``SETTINGS``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unfooled.errors import UsageError
from unfooled.run.config import TrainConfig, make_config, read_config

TASK = "movie-reviews"
DEFENCES: tuple[str, ...] = ("standard",)
SETTINGS: dict[str, dict[str, Any]] = {"standard": {"epochs": 1.0}, "rsmi": {"epochs": 2.0}}
QUICK: dict[str, Any] = {"epochs": 1.0, "lr": 3e-4, "limit": 480, "limit_dev": 50, "limit_test": 100}
TEST_TEXTS = 6

SENTENCES: tuple[tuple[str, str], ...] = (
    ("A gorgeous, witty film.", "positive"),
    ("A georgeous, w1tty fi1m.", "positive"),
    ("Not a single dull moment.", "positive"),
    ("Flawed, overlong, and still the best thing I saw all year.", "positive"),
    ("It is hard to imagine a better way to waste two hours.", "negative"),
    ("The trailer promised a masterpiece; the film is two hours of beautiful nothing.", "negative"),
)
"""Written for the demo: plain praise, the same with typos, negation, concession, irony, contrast."""


@dataclass(frozen=True)
class DemoResult:
    """What the demo left behind."""

    report: Path
    runs: tuple[Path, ...]
    summaries: tuple[dict[str, Any], ...]
    seconds: float


def demo(
    out: str | Path | None = None,
    *,
    quick: bool = False,
    defences: Sequence[str] = DEFENCES,
    say: Callable[[str], None] = lambda message: None,
) -> DemoResult:
    """Train, measure, predict and write ``report.html`` into ``out`` (demo, or demo-quick)."""
    folder = Path(out) if out is not None else Path("demo-quick" if quick else "demo")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file. Give --out a folder.")
    started = time.perf_counter()
    configs = {defence: demo_config(defence, quick=quick) for defence in defences}
    for defence, config in configs.items():
        _refuse_other_run(folder / defence, config)

    from unfooled import assets
    from unfooled.evaluate.page import render
    from unfooled.evaluate.results import read_run
    from unfooled.run.files import write_text

    say("The encoder and the reviews")
    for name in ("minilm", TASK):
        assets.path(name)
    for defence, config in configs.items():
        _train_and_predict(folder / defence, config, say)
    say("The page")
    runs = tuple(folder / defence for defence in defences)
    read = [read_run(run) for run in runs]
    report = folder / "report.html"
    write_text(report, render(read))
    return DemoResult(report, runs, tuple(run.summary() for run in read), time.perf_counter() - started)


def demo_config(defence: str, *, quick: bool = False) -> TrainConfig:
    """How the demo trains a defence."""
    settings = SETTINGS.get(defence, {}) | (QUICK if quick else {})
    return make_config({"task": TASK, "defence": defence} | settings)


def _refuse_other_run(folder: Path, config: TrainConfig) -> None:
    """Nobody's run is replaced or passed off as the demo's."""
    if not (folder / "config.yaml").is_file():
        return
    before, now = read_config(folder / "config.yaml"), config.to_dict()
    changed = sorted(name for name in now if before.get(name) != now[name])
    if changed:
        raise UsageError(
            f"{folder} holds a run with other settings ({', '.join(changed)}). Delete it, or choose another "
            "--out."
        )


def _train_and_predict(folder: Path, config: TrainConfig, say: Callable[[str], None]) -> None:
    from unfooled.run.folder import MARKER, load
    from unfooled.run.train import train

    if (folder / MARKER).is_file():
        say(f"{config.defence}: trained before, used as it is ({folder})")
        classifier = load(folder, device=config.device, precision=config.precision)
    else:
        say(f"{config.defence}: training and measuring ({folder})")
        classifier = train(folder, **config.to_dict())
    say(f"{config.defence}: a dozen predictions")
    write_predictions(folder, config, classifier)


def write_predictions(folder: Path, config: TrainConfig, classifier: Any) -> None:
    """``predictions.jsonl``: the demo's sentences and the first test texts, not picked, with the truth."""
    from unfooled.run.files import write_text
    from unfooled.run.train import load_data

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
    write_text(folder / "predictions.jsonl", "\n".join(lines) + "\n")
