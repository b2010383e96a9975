"""The demo: from nothing to a page that tells the whole story, in minutes on two cores.

A plain model is trained on ``movie-reviews``; from it an RSMI model and one that can be certified. The first
two are attacked with typos, with synonyms and with antonyms, which ought to change the answer; the third is
asked what it provably keeps. Everything is cut short (``FULL``): the intervals are wide, and shown. Run it
again and finished parts are used as they are; an interrupted one goes on.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unfooled.errors import UsageError
from unfooled.storage.config import TrainConfig, make_config, read_config
from unfooled.storage.provenance import recorded_command

TASK = "movie-reviews"
PLAIN, RSMI, CERTIFIED = "standard", "rsmi", "random-mask"
ATTACKS = ("deepwordbug", "pwws", "antonym")
"""Recipes that need nothing but WordNet and the tagger: no vectors to fit on a fresh machine."""
ATTACKED: dict[str, dict[str, Any]] = {PLAIN: {}, RSMI: {"output": "mean-logit"}}
"""The models that are attacked and how they answer then: hidden scores must not flatter RSMI."""
THREAT = "words"
TEST_TEXTS = 6


@dataclass(frozen=True)
class Cut:
    """How much of everything is done."""

    training: Mapping[str, Mapping[str, Any]]
    attacked: int
    """Test texts of each attack."""
    certified: int
    """Test texts that certificates are asked for."""
    draws: int
    """Draws for a certificate, at most."""


_SHORT: dict[str, Any] = {"epochs": 1.0, "limit_dev": 60, "limit_test": 200}
FULL = Cut(
    training={
        PLAIN: {"epochs": 1.0, "limit": 4000},
        RSMI: _SHORT
        | {"limit": 2400, "lr": 5e-5, "settings": {"sigma": 1.0, "warmup": 0.0, "second_votes": 20}},
        CERTIFIED: _SHORT | {"limit": 2000},
    },
    attacked=20,
    certified=24,
    draws=1000,
)
_TINY: dict[str, Any] = {"epochs": 1.0, "limit": 96, "limit_dev": 10, "limit_test": 20}
QUICK = Cut(
    training={
        PLAIN: {"epochs": 1.0, "lr": 3e-4, "limit": 480, "limit_dev": 50, "limit_test": 100},
        RSMI: _TINY | {"settings": {"second_votes": 5}},
        CERTIFIED: _TINY | {"settings": {"votes": 5}},
    },
    attacked=3,
    certified=3,
    draws=100,
)

SENTENCES: tuple[tuple[str, str], ...] = (
    ("A gorgeous, witty film.", "positive"),
    ("A georgeous, w1tty fi1m.", "positive"),
    ("Not a single dull moment.", "positive"),
    ("Flawed, overlong, and still the best thing I saw all year.", "positive"),
    ("It is hard to imagine a better way to waste two hours.", "negative"),
    ("The trailer promised a masterpiece; the film is two hours of beautiful nothing.", "negative"),
)
"""Written for the demo: plain praise, the same with typos, negation, concession, irony, contrast."""

Watch = Callable[[str, str], AbstractContextManager[Callable[[Any], None] | None]]
"""From («attack» or «certify», what it is) to a progress display; its value is called with the progress."""


@dataclass(frozen=True)
class DemoResult:
    """What the demo left behind."""

    report: Path
    runs: tuple[Path, ...]
    summaries: tuple[dict[str, Any], ...]
    attacks: dict[str, dict[str, dict[str, Any]]]
    """By model and recipe: the attack's summary."""
    certificates: dict[str, dict[str, Any]]
    """By model: the summary of its certificates."""
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        return {
            "report": str(self.report),
            "runs": list(self.summaries),
            "attacks": self.attacks,
            "certificates": self.certificates,
            "seconds": self.seconds,
        }


def demo(
    out: str | Path | None = None,
    *,
    quick: bool = False,
    say: Callable[[str], None] = lambda message: None,
    watch: Watch = lambda kind, what: nullcontext(),
) -> DemoResult:
    """Train, attack, certify and write ``report.html`` into ``out`` (demo, or demo-quick)."""
    folder = Path(out) if out is not None else Path("demo-quick" if quick else "demo")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file. Give --out a folder.")
    started = time.perf_counter()
    cut = QUICK if quick else FULL
    runs = {defence: folder / defence for defence in cut.training}
    configs = {defence: demo_config(defence, folder, quick=quick) for defence in runs}
    for defence, config in configs.items():
        _refuse_other_run(runs[defence], config)

    from unfooled import assets
    from unfooled.api.report import report

    def tell(message: str) -> None:
        minutes, seconds = divmod(int(time.perf_counter() - started), 60)
        say(f"{minutes}:{seconds:02} {message}")

    tell("the encoder, the reviews, WordNet, the tagger")
    for name in ("minilm", TASK, "wordnet", "tagger"):
        assets.path(name)
    for defence, config in configs.items():
        _train_and_predict(runs[defence], config, tell)
    attacks = {defence: _attacked(runs[defence], defence, cut, tell, watch) for defence in ATTACKED}
    certificates = {CERTIFIED: _certified(runs[CERTIFIED], cut, tell, watch)}
    tell("the page")
    written = report(*runs.values(), out=folder / "report.html")
    return DemoResult(
        report=written.path,
        runs=tuple(runs.values()),
        summaries=written.runs,
        attacks=attacks,
        certificates=certificates,
        seconds=time.perf_counter() - started,
    )


def demo_config(defence: str, folder: Path, *, quick: bool = False) -> TrainConfig:
    """How the demo trains a defence: the plain model from the encoder, the others from the plain model."""
    settings = {"task": TASK, "defence": defence, **(QUICK if quick else FULL).training[defence]}
    if defence != PLAIN:
        settings["encoder"] = str(folder / PLAIN)
    return make_config(settings)


def _refuse_other_run(folder: Path, config: TrainConfig) -> None:
    """Nobody's run is replaced or passed off as the demo's."""
    if not (folder / "config.yaml").is_file():
        return
    before, now = read_config(folder / "config.yaml"), config.to_dict()
    # The folder may have been moved, and with it the plain model that the others were trained from.
    moved = {"encoder"} if config.defence != PLAIN else set()
    changed = sorted(name for name in now.keys() - moved if before.get(name) != now[name])
    if changed:
        raise UsageError(
            f"{folder} holds a run with other settings ({', '.join(changed)}). Delete it, or choose another "
            "--out."
        )


def _train_and_predict(folder: Path, config: TrainConfig, tell: Callable[[str], None]) -> None:
    from unfooled.api.load import MARKER, load
    from unfooled.api.train import train

    if (folder / MARKER).is_file():
        tell(f"{config.defence}: trained before, used as it is ({folder})")
        classifier = load(folder, device=config.device, precision=config.precision)
    else:
        tell(f"{config.defence}: training on {config.limit:,} reviews and measuring ({folder})")
        classifier = train(folder, **config.to_dict())
    write_predictions(folder, config, classifier)


def write_predictions(folder: Path, config: TrainConfig, classifier: Any) -> None:
    """``predictions.jsonl``: the demo's sentences and the first test texts, not picked, with the truth."""
    from unfooled.api.train import load_data
    from unfooled.files import write_text

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


def _attacked(
    run: Path, defence: str, cut: Cut, tell: Callable[[str], None], watch: Watch
) -> dict[str, dict[str, Any]]:
    """The summary of every recipe, and what they do to the hidden states."""
    from unfooled.api.attack import attack
    from unfooled.api.represent import represent

    answers = ATTACKED[defence]
    options = "".join(f" --predictor-set {name}={value}" for name, value in answers.items())
    found = {}
    for recipe in ATTACKS:
        tell(f"{defence}: attacked with {recipe}, {cut.attacked} test texts")
        command = f"unfooled attack {run} --recipe {recipe} --limit {cut.attacked}{options}"
        with watch("attack", f"{defence} {recipe}") as on_progress, recorded_command(command):
            found[recipe] = attack(
                run,
                recipe=recipe,
                limit=cut.attacked,
                predictor=answers,
                on_progress=on_progress,
            ).summary
    with recorded_command(f"unfooled represent {run}"):
        represent(run)
    return found


def _certified(run: Path, cut: Cut, tell: Callable[[str], None], watch: Watch) -> dict[str, Any]:
    from unfooled.api.certify import certify
    from unfooled.certificates.sampling import Sampling

    tell(f"{CERTIFIED}: certificates for {cut.certified} test texts")
    command = f"unfooled certify {run} --threat {THREAT} --adaptive --n {cut.draws} --limit {cut.certified}"
    with watch("certify", THREAT) as on_progress, recorded_command(command):
        report = certify(
            run,
            threat=THREAT,
            sampling=Sampling(n=cut.draws, adaptive=True),
            limit=cut.certified,
            on_progress=on_progress,
        )
    return dict(report.summary)
