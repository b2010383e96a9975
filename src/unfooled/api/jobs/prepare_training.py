"""What a defence needs before it trains: an ordinary attack on a plain model, on texts to be trained on.

Everything is kept in ``RUN/preparation``: ``plain`` is the plain model while it is needed (it goes when the
run is finished), ``NAME/attack`` the attack with its journal, and ``NAME/examples.json``, written last, the
examples that it made. A killed training goes on with whichever of them it had come to. Under ``torchrun`` the
plain model is trained by all processes and attacked by the first; the others wait for the examples.

The attack is on training rows, which is what is meant here. It is no evaluation: reports look elsewhere.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from unfooled.api.attack import attack
from unfooled.api.jobs.attack_job import Progress
from unfooled.api.load import MARKER, METRICS
from unfooled.attacks.tools import Tools
from unfooled.data import TaskData
from unfooled.data.inputs import Inputs
from unfooled.defences import Defence, MadeExample, MadeExamples, Preparation, preparations
from unfooled.defences.parts.adversarial import attack_counts
from unfooled.errors import UsageError, UserError
from unfooled.files import TRAIN_AGAIN, JsonObject, read_json, writable, write_json
from unfooled.records.results.attack_report import AttackReport
from unfooled.records.shapes.run_shapes import MadeShape, MarkerShape
from unfooled.storage.config import TrainConfig
from unfooled.storage.journal import fingerprint
from unfooled.training.data import AnyTaskData
from unfooled.training.epoch_data import seeded
from unfooled.training.fit import Prepared, is_first_process, wait_for_all
from unfooled.training.progress import ProgressBar

PREPARATION, PLAIN, EXAMPLES = "preparation", "plain", "examples.json"
FORMAT = 1
_ASK_AGAIN = 0.5
"""Seconds after which a process looks again whether the first one has made the examples."""


def check_preparation(prepared: Prepared, workers: int | None = None, ray: str | None = None) -> None:
    """Refuse a plain model that cannot be attacked, and workers where there is nothing to share."""
    wanted = preparations(prepared.defence)
    if not wanted and (workers is not None or ray is not None):
        raise UsageError(
            f"--workers and --ray share the attack that a defence makes before it trains, and "
            f"{prepared.defence.name} makes none. Leave them out; torchrun trains on several processes."
        )
    check_plain_runs(prepared.defence, prepared.splits)


def check_plain_runs(defence: Defence, data: AnyTaskData, *, later: Collection[Path] = ()) -> None:
    """Refuse a plain model that cannot be attacked, unless it is one that will be trained ``later``."""
    for name, one in preparations(defence).items():
        if one.plain is None or Path(one.plain).resolve() in {run.resolve() for run in later}:
            continue
        if problem := _problem(Path(one.plain), data):
            raise UsageError(
                f"{name}: plain={one.plain}: {problem}. Name a finished run with the same labels, or leave "
                "plain out: one is trained."
            )


def prepare_training(
    prepared: Prepared, place: Path, *, workers: int | None = None, ray: str | None = None
) -> dict[str, MadeExamples]:
    """What the defence asks for, made now or found in the run folder ``place``; by the name of the part."""
    wanted = preparations(prepared.defence)
    if not wanted:
        return {}
    wait_for_all(prepared, place)  # the first process may have cleared the folder
    with seeded(prepared.config.seed):  # training draws the same numbers, whether this was made before or now
        return {
            name: _made(name, one, prepared, place / PREPARATION, workers, ray)
            for name, one in wanted.items()
        }


def remove_scaffolding(place: Path) -> None:
    """Remove the plain model that was trained to be attacked."""
    shutil.rmtree(place / PREPARATION / PLAIN, ignore_errors=True)


def _made(
    name: str, wanted: Preparation, prepared: Prepared, place: Path, workers: int | None, ray: str | None
) -> MadeExamples:
    assert isinstance(prepared.splits, TaskData)  # defences that attack texts refuse models of images
    texts = _texts(prepared.splits, wanted.sample)
    key = fingerprint(
        {
            "defence": name,
            "conditions": prepared.config.conditions(),
            "texts": list(texts.texts or ()),
            "pairs": texts.pairs,
            "labels": texts.labels,
        }
    )
    file, labels = place / name / EXAMPLES, prepared.splits.task.labels
    found = _read(file, key, labels)
    if found is not None:
        return found
    run = _plain_model(name, wanted, prepared, place)
    if is_first_process():
        report = _attacked(name, run, texts, wanted, prepared.config, place / name / "attack", workers, ray)
        examples = [
            {"texts": list(one.perturbed), "label": texts.labels[one.row]}
            for one in report.outcomes
            if one.status == "success" and one.perturbed is not None and texts.labels is not None
        ]
        trained = run == place / PLAIN
        seconds = read_json(run / METRICS, remedy=TRAIN_AGAIN)["train"]["seconds"] if trained else None
        about = _about(report, wanted, seconds)
        write_json(file, {"format": FORMAT, "key": key, "about": about, "examples": examples})
    while (found := _read(file, key, labels)) is None:
        time.sleep(_ASK_AGAIN)
    return found


def _texts(data: TaskData, sample: int) -> Inputs:
    """The first training texts: they come in an order whose every beginning is stratified."""
    taken = data.train.select(range(min(sample, len(data.train))))
    pairs = list(taken["text_pair"]) if "text_pair" in taken.column_names else None
    labels = [data.task.labels[label] for label in taken["label"]]
    return Inputs(texts=list(taken["text"]), pairs=pairs, labels=labels)


def _plain_model(name: str, wanted: Preparation, prepared: Prepared, place: Path) -> Path:
    """The run that is attacked; trained now if there is none."""
    config = prepared.config
    if wanted.plain is not None:
        return Path(wanted.plain)
    if not _problem(Path(str(config.encoder)), prepared.splits):
        return Path(str(config.encoder))
    run = place / PLAIN
    if not (run / MARKER).is_file():
        from unfooled.api.train import train_as

        _say(f"{name}: a plain model is trained first, to be attacked.")
        # Its test score is nobody's business: two texts must do.
        train_as(replace(config, defence="standard", settings={}, limit_test=2, keep_test=False), run)
    return run


def _problem(run: Path, data: AnyTaskData) -> str:
    """Why a folder is no run that could be attacked on these data; empty if it is one."""
    if not (run / MARKER).is_file():
        return "it is not a finished run of unfooled"
    saved = read_json(run / MARKER, MarkerShape, remedy=TRAIN_AGAIN)
    if sorted(saved["labels"]) != sorted(data.task.labels):
        return f"it answers {', '.join(saved['labels'])}, and the data have {', '.join(data.task.labels)}"
    kind = (saved["task"] or {}).get("kind", data.task.kind)
    return "" if kind == data.task.kind else "one of it and the data has single texts, the other pairs"


def _attacked(
    name: str,
    run: Path,
    texts: Inputs,
    wanted: Preparation,
    config: TrainConfig,
    folder: Path,
    workers: int | None,
    ray: str | None,
) -> AttackReport:
    _say(f"{name}: {wanted.recipe.name} attacks {len(texts.texts or ()):,} training texts.")
    bar = ProgressBar()

    def show(progress: Progress) -> None:
        bar.work(f"{wanted.recipe.name} on training texts", progress.done, progress.total)

    try:
        report = attack(
            run,
            texts,
            recipe=wanted.recipe,
            limit=None,
            tools=Tools(validity=False),
            predictor={"name": "plain"},
            seed=config.seed,
            device=config.device,
            workers=workers,
            ray=ray,
            out=folder,
            progress=show,
        )
    finally:
        bar.close()
    counts = report.summary["counts"]
    if counts["error"] and counts["error"] + counts["refused"] == sum(counts.values()):
        first = next(one.message for one in report.outcomes if one.status == "error")
        raise UserError(f"{name}: the attack broke on every text. The first: {first}")
    return report


def _about(report: AttackReport, wanted: Preparation, seconds: float | None) -> JsonObject:
    counts = attack_counts(report.outcomes)
    return {
        "recipe": report.about["recipe"],
        "plain": {"run": wanted.plain, "weights": report.about["victim"]["weights"]},
        **counts,
        "appended": counts["successes"],
        "seconds": {"plain": seconds, "attack": sum(one.seconds for one in report.outcomes)},
    }


def _read(file: Path, key: str, labels: tuple[str, ...]) -> MadeExamples | None:
    """The examples in a file; None if it is not there or holds those of another training."""
    if not file.is_file():
        return None
    saved = read_json(file, MadeShape, remedy=TRAIN_AGAIN)
    if saved["format"] != FORMAT or saved["key"] != key:
        return None
    for one in saved["examples"]:
        if one["label"] not in labels or not one["texts"]:
            raise UserError(
                f"{writable(file)}: an example without text or with an unknown label. {TRAIN_AGAIN}"
            )
    examples = [MadeExample(tuple(one["texts"]), labels.index(one["label"])) for one in saved["examples"]]
    return MadeExamples(examples, saved["about"])


def _say(told: str) -> None:
    if is_first_process():
        print(told, file=sys.stderr)
