"""What the folder of a finished run says about itself, read from its files alone and checked.

``metrics.json``, ``unfooled.json``, ``config.yaml`` and ``history.json`` are written by training;
``predictions.jsonl`` is optional: lines of ``unfooled predict --json``, each with a ``truth`` if known.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from unfooled.errors import UserError
from unfooled.records.metric import clean_score
from unfooled.records.trained_run import Points, Run, Sample


def read_run(path: str | Path) -> Run:
    """The results in a run folder; a folder that is not a finished run is refused."""
    folder = Path(path)
    if not folder.is_dir():
        what = "is a file, not a run folder" if folder.exists() else "does not exist"
        raise UserError(f"{folder} {what}. Name folders made by `unfooled train`.")
    if not (folder / "unfooled.json").is_file():
        if (folder / "config.yaml").is_file():
            raise UserError(
                f"The run in {folder} is not finished (no unfooled.json). Run the same training command "
                "again: it goes on from the last checkpoint."
            )
        raise UserError(f"{folder} is not a run (no unfooled.json). Name a folder made by `unfooled train`.")
    if not (folder / "metrics.json").is_file():
        raise UserError(
            f"{folder} has no metrics.json: its classifier was saved without being measured. Make a run "
            "with `unfooled train`."
        )
    run: Run = _parsed(folder / "metrics.json", lambda text: _measured(folder, json.loads(text)))
    run = _parsed(folder / "unfooled.json", lambda text: _described(run, json.loads(text)))
    if (folder / "config.yaml").is_file():
        run = replace(run, config_text=_parsed(folder / "config.yaml", str))
    if (folder / "history.json").is_file():
        run = _parsed(folder / "history.json", lambda text: _with_curves(run, json.loads(text)))
    if (folder / "predictions.jsonl").is_file():
        run = replace(run, samples=_parsed(folder / "predictions.jsonl", _samples))
    return run


def _parsed(path: Path, parse: Callable[[str], Any]) -> Any:
    try:
        return parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"Cannot read {path}: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        if path.suffix == ".jsonl":
            remedy = "Write it anew with `unfooled predict --json`."
        else:
            remedy = "Copy the folder again, or train again with --overwrite."
        raise UserError(f"{path} is damaged ({reason}). {remedy}") from error


def _measured(folder: Path, metrics: Any) -> Run:
    test, training = metrics["test"], metrics["train"]
    confusion = tuple(tuple(int(count) for count in row) for row in test["confusion"])
    labels = tuple(str(label) for label in test["labels"])
    if not labels or len(confusion) != len(labels) or any(len(row) != len(labels) for row in confusion):
        raise ValueError("the confusion matrix does not fit the labels")
    score, examples = clean_score(test), int(test["examples"])
    if examples < 1 or not 0 <= score.low <= score.value <= score.high <= 1:
        raise ValueError(f"{score.metric}, interval and number of examples do not fit together")
    return Run(
        name=folder.resolve().name,
        folder=str(folder),
        labels=labels,
        examples=examples,
        accuracy=score.value,
        low=score.low,
        high=score.high,
        macro_f1=float(test["macro_f1"]),
        abstained=int(test.get("abstained", 0)),
        confusion=confusion,
        forwards=float(test["forwards_per_example"]),
        train_seconds=float(training["seconds"]),
        train_examples=int(training["examples"]),
        resumed=bool(training.get("resumed")),
        versions={str(name): str(value) for name, value in metrics["versions"].items()},
        warnings=tuple(str(told) for told in metrics.get("warnings", ())),
        seconds=None if test.get("seconds") is None else float(test["seconds"]),
        rows=_rows(metrics.get("data")),
    )


def _rows(data: Any) -> tuple[tuple[str, int], ...]:
    if data is None:
        return ()
    left_out = {f"left out: {reason}": count for reason, count in data["dropped"].items()}
    found = {name: data[name] for name in ("train", "dev", "test")} | left_out
    return tuple((name, int(count)) for name, count in found.items())


def _described(run: Run, marker: Any) -> Run:
    defence, predictor = marker["defence"], dict(marker["predictor"])
    settings = {
        "defence": defence["name"],
        **defence["settings"],
        "predictor": predictor.pop("name"),
    }
    settings |= {name: value for name, value in predictor.items() if name not in settings}
    settings["max_length"] = marker["max_length"]
    task = str((marker["task"] or {}).get("name") or "own data")
    return replace(
        run,
        task=task,
        defence=str(defence["name"]),
        predictor=dict(marker["predictor"]),
        deployed=tuple(settings.items()),
        weights=str(marker.get("weights", "")),
        weight_files=tuple((str(name), str(value)) for name, value in marker.get("files", {}).items()),
    )


def _with_curves(run: Run, history: Any) -> Run:
    def curve(name: str) -> Points:
        return tuple((float(row["epoch"]), float(row[name])) for row in history if name in row)

    scores = [name for row in history for name in row if name.startswith("eval_")]
    return replace(run, losses=curve("loss"), dev=curve(scores[0]) if scores else ())


def _samples(text: str) -> tuple[Sample, ...]:
    samples = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                samples.append(_sample(json.loads(line)))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
                raise ValueError(f"line {number}: {reason}") from error
    return tuple(samples)


def _sample(row: Any) -> Sample:
    def name(key: str) -> str | None:
        return None if row.get(key) is None else str(row[key])

    text, pair = str(row["text"]), name("pair")
    lengths = (len(text), len(pair or ""))
    spans = sorted((int(which), int(start), int(end)) for which, start, end in row.get("masked_spans", ()))
    return Sample(
        text=text,
        pair=pair,
        truth=name("truth"),
        source=name("source") or "",
        label=None if row["label"] is None else str(row["label"]),
        leader=name("leader"),
        scores={str(label): float(score) for label, score in row.get("scores", {}).items()},
        votes=tuple({str(k): int(n) for k, n in stage.items()} for stage in row.get("votes", ())),
        forwards=int(row.get("forwards", 0)),
        masked=tuple(s for s in spans if s[0] in (0, 1) and 0 <= s[1] < s[2] <= lengths[s[0]]),
        truncated=bool(row.get("truncated")),
        refused=name("refused") or "",
    )
