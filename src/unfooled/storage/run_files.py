"""What the folder of a finished run says about itself, read from its files alone and checked.

``metrics.json``, ``unfooled.json``, ``config.yaml`` and ``history.json`` are written by training;
``predictions.jsonl`` is optional: lines of ``unfooled predict --json``, each with a ``truth`` if known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from unfooled.errors import UserError
from unfooled.files import TRAIN_AGAIN, JsonMapping, in_shape, read_json, read_text
from unfooled.parsing import parse_json
from unfooled.records.metric import clean_score
from unfooled.records.results.trained_run import Points, Run, Sample
from unfooled.records.shapes.run_shapes import DataShape, MarkerShape, MetricsShape, PredictionLine


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
    run = _measured(folder, read_json(folder / "metrics.json", MetricsShape, remedy=TRAIN_AGAIN))
    run = _described(run, read_json(folder / "unfooled.json", MarkerShape, remedy=TRAIN_AGAIN))
    if (folder / "config.yaml").is_file():
        run = replace(run, config_text=read_text(folder / "config.yaml"))
    if (folder / "history.json").is_file():
        history = read_json(folder / "history.json", list[dict[str, Any]], remedy=TRAIN_AGAIN)
        run = _with_curves(run, history, str(folder / "history.json"))
    if (folder / "predictions.jsonl").is_file():
        run = replace(run, samples=tuple(_samples(folder / "predictions.jsonl")))
    return run


def _measured(folder: Path, metrics: MetricsShape) -> Run:
    file, test, training = folder / "metrics.json", metrics["test"], metrics["train"]
    labels, confusion = tuple(test.get("labels", ())), test.get("confusion", ())
    examples = test["examples"]
    if len(confusion) != len(labels) or any(len(row) != len(labels) for row in confusion):
        raise UserError(f"{file}: test: the confusion matrix does not fit the labels. {TRAIN_AGAIN}")
    score = clean_score(test, f"{file}: test")
    if examples < 1 or not 0 <= score.low <= score.value <= score.high <= 1:
        raise UserError(
            f"{file}: test: {score.metric}, interval and examples do not fit together. {TRAIN_AGAIN}"
        )
    return Run(
        name=folder.resolve().name,
        folder=str(folder),
        labels=labels,
        examples=examples,
        accuracy=score.value,
        low=score.low,
        high=score.high,
        macro_f1=test.get("macro_f1"),
        metric=score.metric,
        abstained=test.get("abstained", 0),
        confusion=tuple(tuple(row) for row in confusion),
        forwards=test["forwards_per_example"],
        train_seconds=training["seconds"],
        kept_epoch=training.get("kept_epoch"),
        train_examples=training["examples"],
        resumed=training.get("resumed", False),
        versions=metrics["versions"],
        warnings=tuple(metrics.get("warnings", ())),
        seconds=test.get("seconds"),
        machine=metrics.get("machine", ""),
        rows=_rows(metrics.get("data")),
    )


def _rows(data: DataShape | None) -> tuple[tuple[str, int], ...]:
    if data is None:
        return ()
    left_out = {f"left out: {reason}": count for reason, count in data["dropped"].items()}
    return (("train", data["train"]), ("dev", data["dev"]), ("test", data["test"]), *left_out.items())


def _described(run: Run, marker: MarkerShape) -> Run:
    defence, predictor = marker["defence"], dict(marker["predictor"])
    settings: dict[str, Any] = {
        "defence": defence["name"],
        **defence["settings"],
        "predictor": predictor.pop("name"),
    }
    settings |= {name: value for name, value in predictor.items() if name not in settings}
    if "images" in marker:
        channels, height, width = marker["images"]["shape"]
        settings["architecture"] = marker["images"]["architecture"]["name"]
        settings["images"] = f"{width}×{height}×{channels}"
    elif "questions" in marker:
        settings |= marker["questions"]
    else:
        settings["max_length"] = marker.get("max_length")
    task = str((marker["task"] or {}).get("name") or "own data")
    return replace(
        run,
        task=task,
        defence=defence["name"],
        predictor=dict(marker["predictor"]),
        deployed=tuple(settings.items()),
        reads=next((kind for key, kind in _KINDS.items() if key in marker), "text"),
        weights=marker.get("weights", ""),
        weight_files=tuple(marker.get("files", {}).items()),
    )


_KINDS = {"images": "image", "questions": "question"}
"""The kind of a model, by the part of ``unfooled.json`` that describes it; texts have none."""


def _with_curves(run: Run, history: Sequence[JsonMapping], file: str) -> Run:
    def curve(name: str) -> Points:
        rows = [(number, row) for number, row in enumerate(history) if name in row]
        where = f"{file}: [{{}}]: {{}}".format
        return tuple(
            (
                in_shape(row.get("epoch"), float, where(number, "epoch"), remedy=TRAIN_AGAIN),
                in_shape(row[name], float, where(number, name), remedy=TRAIN_AGAIN),
            )
            for number, row in rows
        )

    scores = [name for row in history for name in row if name.startswith("eval_")]
    return replace(run, losses=curve("loss"), dev=curve(scores[0]) if scores else ())


def _samples(path: Path) -> Iterator[Sample]:
    remedy = "Write the file anew with `unfooled predict --json`."
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            where = f"{path}, line {number}"
            yield _sample(
                in_shape(parse_json(line, where, remedy=remedy), PredictionLine, where, remedy=remedy)
            )


def _sample(row: PredictionLine) -> Sample:
    text, pair = row["text"], row.get("pair")
    lengths = (len(text), len(pair or ""))
    return Sample(
        text=text,
        pair=pair,
        truth=row.get("truth"),
        source=row.get("source") or "",
        label=row["label"],
        leader=row.get("leader"),
        scores=row.get("scores", {}),
        votes=tuple(row.get("votes", ())),
        forwards=row.get("forwards", 0),
        masked=tuple(
            (span[0], span[1], span[2])
            for span in sorted(row.get("masked_spans", ()))
            if span[0] in (0, 1) and 0 <= span[1] < span[2] <= lengths[span[0]]
        ),
        truncated=row.get("truncated", False),
        refused=row.get("refused") or "",
    )
