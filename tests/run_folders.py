"""Run folders written by hand: what training leaves behind, without the training."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

MakeRun = Callable[..., Path]

METRICS: dict[str, Any] = {
    "train": {"seconds": 161.4, "loss": 0.45, "examples": 6718, "steps": 210, "resumed": False},
    "dev": {"examples": 746, "accuracy": 0.8284},
    "test": {
        "examples": 1000,
        "accuracy": 0.837,
        "accuracy_interval": [0.8128, 0.8586],
        "macro_f1": 0.8369,
        "confusion": [[431, 69], [94, 406]],
        "labels": ["negative", "positive"],
        "abstained": 0,
        "forwards_per_example": 1.0,
        "seconds": 4.0,
    },
    "versions": {"unfooled": "0.1.0", "python": "3.11.7", "torch": "2.13.0+cpu"},
    "seed": 0,
}
MARKER: dict[str, Any] = {
    "format": 1,
    "unfooled": "0.1.0",
    "defence": {"name": "standard", "settings": {}},
    "predictor": {"name": "plain"},
    "task": {"name": "movie-reviews", "kind": "single"},
    "labels": ["negative", "positive"],
    "max_length": 64,
}
HISTORY: list[dict[str, Any]] = [
    {"loss": 0.69, "epoch": 0.25, "step": 25},
    {"loss": 0.48, "epoch": 0.75, "step": 75},
    {"eval_accuracy": 0.8284, "epoch": 1.0, "step": 100},
    {"train_loss": 0.45, "epoch": 1.0, "step": 100},
]
CONFIG = "task: movie-reviews\ndata: null\ndefence: standard\nepochs: 1.0\nseed: 0\n"


def prediction(text: str, label: str | None, **more: Any) -> dict[str, Any]:
    """A line of predictions.jsonl."""
    other = {"positive": "negative", "negative": "positive"}
    scores = {} if label is None else {label: 0.9, other[label]: 0.1}
    return {"text": text, "label": label, "leader": label, "scores": scores, "forwards": 1, **more}


def write_run(
    folder: Path,
    *,
    test: dict[str, Any] | None = None,
    train: dict[str, Any] | None = None,
    marker: dict[str, Any] | None = None,
    history: Any = HISTORY,
    predictions: list[dict[str, Any]] | None = None,
) -> Path:
    folder.mkdir(parents=True)
    metrics = METRICS | {
        "test": METRICS["test"] | (test or {}),
        "train": METRICS["train"] | (train or {}),
    }
    (folder / "metrics.json").write_text(json.dumps(metrics), encoding="utf-8")
    (folder / "unfooled.json").write_text(json.dumps(MARKER | (marker or {})), encoding="utf-8")
    (folder / "config.yaml").write_text(CONFIG, encoding="utf-8")
    if history is not None:
        (folder / "history.json").write_text(json.dumps(history), encoding="utf-8")
    if predictions is not None:
        lines = "".join(json.dumps(row) + "\n" for row in predictions)
        (folder / "predictions.jsonl").write_text(lines, encoding="utf-8")
    return folder


def outcome(row: int, text: str, status: str = "failed", **more: Any) -> dict[str, Any]:
    """One outcome of an attack, as the journal keeps it; a success changes the last word."""
    from unfooled.records.outcome import Outcome

    changed: dict[str, Any] = {}
    if status == "success":
        changed = {"perturbed": (f"{text.rsplit(' ', 1)[0]} changed",), "label": 0, "similarity": 0.9}
    known = {"first_label": 1, "truth": 1, "queries": 20, "forwards": 40, "words": len(text.split())}
    values = known | changed | more
    return Outcome(row, status, (text,), **values).to_dict()  # type: ignore[arg-type]


def write_records(folder: Path, table: str, records: list[dict[str, Any]]) -> dict[str, Any]:
    """The journal of a report, and what the report says about it."""
    from unfooled.storage.journal import open_journal
    from unfooled.storage.kept import JOURNAL, kept_records

    with open_journal(folder / JOURNAL, table) as journal:
        keys = [(f"key {place}", one["row"]) for place, one in enumerate(records)]
        for key, one in zip(keys, records, strict=True):
            journal.add(*key, one)
        listed = journal.write_list(lambda: keys)
        return kept_records(journal, listed, dict).where()


def write_attack(
    folder: Path,
    outcomes: list[dict[str, Any]],
    *,
    recipe: str = "textfooler",
    goal: str = "fickle",
    randomised: bool = False,
    victim: dict[str, Any] | None = None,
    **about: Any,
) -> Path:
    """The folder that an attack with these outcomes leaves."""
    from unfooled.records.outcome import Outcome
    from unfooled.records.summaries.attack_summary import attack_summary

    folder.mkdir(parents=True)
    made = [Outcome.from_dict(json.loads(json.dumps(one))) for one in outcomes]
    report = {
        "format": 1,
        "victim": {"name": "runs/plain", "kind": "classifier", **(victim or {})},
        "source": "movie-reviews (test)",
        "limit": len(outcomes),
        "recipe": {"name": recipe, "paper": "Nobody 2000", "goal": goal, "settings": {}},
        "seed": 7,
        "versions": {"unfooled": "0.1.0"},
        "command": f"unfooled attack runs/plain --recipe {recipe}",
        "complete": True,
        "journal": write_records(folder, "outcomes", outcomes),
        "labels": ["negative", "positive"],
        "summary": attack_summary(made, goal=goal, randomised=randomised),
        **about,
    }
    (folder / "attack.json").write_text(json.dumps(report), encoding="utf-8")
    return folder


def certificate(row: int, text: str, radius: float | None, *, correct: bool = True, **more: Any) -> Any:
    """One certificate; None as its radius is an abstention."""
    from unfooled.records.certificate import Certificate

    known = {
        "unit": "embedding distance",
        "samples": 1000,
        "forwards": 1000,
        "seconds": 0.5,
        "texts": (text,),
    }
    if radius is None:
        return Certificate(row, "abstained", "l2", truth="positive", correct=False, **known | more)
    own = {"radii": {"gaussian": radius, "renyi": radius / 2}, "votes": {"negative": 10, "positive": 990}}
    known |= own | {"label": "positive", "truth": "positive" if correct else "negative", "correct": correct}
    return Certificate(row, "certified", "l2", radius=radius, sentence="It keeps its answer.", **known | more)


def write_certificates(folder: Path, certificates: list[Any], *, threat: str = "l2", **about: Any) -> Path:
    """The folder that a certification leaves."""
    from unfooled.records.summaries.certificate_summary import certificate_summary

    folder.mkdir(parents=True)
    report = {
        "format": 1,
        "classifier": "runs/plain",
        "source": "movie-reviews (test)",
        "notes": [],
        "other_predictor": "",
        "not_covered": "Not covered: words added.",
        "threat": threat,
        "smoothing": {"name": "embedding-noise", "sigma": 0.2},
        "sampling": {"n0": 100, "n": 1000, "alpha": 0.001},
        "seed": 0,
        "versions": {"unfooled": "0.1.0"},
        "command": f"unfooled certify runs/plain --threat {threat}",
        "complete": True,
        "journal": write_records(folder, "certificates", [one.to_dict() for one in certificates]),
        "summary": certificate_summary(certificates),
        **about,
    }
    (folder / "certificate.json").write_text(json.dumps(report), encoding="utf-8")
    return folder


def write_repeats(run: Path, repeats: int = 30, *, name: str = "two-step") -> None:
    from unfooled.statistics.spread import repeat_statistics

    answers = [[0, 1, 1, int(number % 3 == 0)] for number in range(repeats)]
    found = repeat_statistics([0, 1, 0, 1], answers, ("negative", "positive"))
    found |= {"random": True, "seed": 0, "complete": True, "run": str(run), "unfooled": "0.1.0"}
    (run / "repeats" / name).mkdir(parents=True, exist_ok=True)
    (run / "repeats" / name / "repeat.json").write_text(json.dumps(found), encoding="utf-8")


def write_representations(run: Path, name: str = "all") -> None:
    drift = {"attack": "textfooler", "inputs": 12, "l2": [0.5, 1.0, 2.0], "cosine": [0.9, 0.8, 0.6]}
    drift |= {name + "_interval": [[v - 0.1, v + 0.1] for v in drift[name]] for name in ("l2", "cosine")}  # type: ignore[attr-defined]
    points = [
        {"row": n, "kind": kind, "label": "positive", "x": n + 0.5, "y": -n / 2, "attack": None}
        for n, kind in enumerate(["clean", "clean", "fickle", "obstinate"])
    ]
    found = {"layers": ["embeddings", "block 1", "block 2"], "drift": [drift]}
    found["map"] = {"method": "PCA", "explained": [0.4, 0.2], "points": points}  # type: ignore[assignment]
    found |= {"command": "unfooled represent run", "versions": {"unfooled": "0.1.0"}}  # type: ignore[dict-item]
    (run / "representations" / name).mkdir(parents=True, exist_ok=True)
    (run / "representations" / name / "representations.json").write_text(json.dumps(found), encoding="utf-8")


def write_everything(folder: Path, examples: int = 12, **run: Any) -> Path:
    """A run with two attacks, one of each goal, certificates, repeats and hidden states."""
    made = write_run(folder, predictions=[prediction("a fine film", "positive", truth="positive")], **run)
    texts = [f"review number {number} is fine" for number in range(examples)]
    statuses = ["success", "failed", "skipped", "success"]
    rows = [
        outcome(
            number,
            text,
            statuses[number % 4],
            **(
                {"fresh_successes": 20 if number % 4 else 3, "fresh_total": 20}
                if statuses[number % 4] == "success"
                else {}
            ),
        )
        for number, text in enumerate(texts)
    ]
    write_attack(made / "attacks" / "textfooler", rows, randomised=True)
    kept = [outcome(number, text, "success", label=1) for number, text in enumerate(texts)]
    write_attack(made / "attacks" / "antonym", kept, recipe="antonym", goal="obstinate")
    proved = [
        certificate(number, text, None if number % 5 == 0 else 0.1 * (number % 5), correct=number % 7 != 0)
        for number, text in enumerate(texts)
    ]
    write_certificates(made / "certificates" / "l2", proved)
    write_repeats(made)
    write_representations(made)
    return made
