"""``unfooled.train``: a configuration in, a run folder and its classifier out.

Run the same command again after an interruption and it goes on from the last checkpoint. A run folder
is finished when it holds ``unfooled.json``.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path

import yaml

from unfooled.api.load import MARKER, METRICS, save
from unfooled.errors import UsageError
from unfooled.files import write_json, write_text
from unfooled.predictors import Classifier
from unfooled.storage.card import model_card
from unfooled.storage.config import TrainConfig, make_config
from unfooled.storage.provenance import versions
from unfooled.training.fit import fit, is_first_process, prepare


def train(
    out: str | Path | None = None,
    *,
    task: str | None = None,
    data: str | None = None,
    dev_data: str | None = None,
    test_data: str | None = None,
    text_column: str | None = None,
    pair_column: str | None = None,
    label_column: str | None = None,
    labels: Sequence[str] | None = None,
    encoding: str = "utf-8",
    defence: str = "standard",
    settings: Mapping[str, object] | None = None,
    encoder: str = "minilm",
    layers: int | None = None,
    epochs: float = 2.0,
    lr: float | None = None,
    batch_size: int = 32,
    max_length: int | None = None,
    warmup: float = 0.06,
    weight_decay: float = 0.01,
    clip: float = 1.0,
    patience: int = 0,
    limit: int | None = None,
    limit_dev: int | None = None,
    limit_test: int | None = None,
    seed: int = 0,
    device: str = "auto",
    precision: str = "auto",
    overwrite: bool = False,
) -> Classifier:
    """Train a classifier and save it as the run folder ``out`` (default: runs/TASK-DEFENCE).

    Name what to train on, ``task`` or ``data``. ``defence`` may be a combination (``"a+b"``); ``settings``
    are those of the defence (``unfooled train --list-defences``). The other parameters are the fields of
    :class:`TrainConfig`, where each is explained. Run the same call again after an interruption and it goes
    on; ``overwrite`` replaces a run. The classifier that comes back has its ``metrics``.

    >>> clf = unfooled.train("runs/rsmi", task="movie-reviews", defence="rsmi", settings={"sigma": 0.3})
    """
    given = locals()
    values = {field.name: given[field.name] for field in fields(TrainConfig)}
    return train_as(make_config(values | {"settings": dict(settings or {})}), out, overwrite=overwrite)


def train_as(config: TrainConfig, out: str | Path | None = None, *, overwrite: bool = False) -> Classifier:
    """:func:`train` with a configuration that was made already."""
    folder = run_folder(config) if out is None else Path(out)
    _claim(folder, config, overwrite)
    prepared = prepare(config)
    if is_first_process():
        _start(folder, config, overwrite)
    metrics = fit(prepared, folder)
    history = metrics.pop("history")
    classifier = prepared.classifier
    classifier.folder = folder.absolute()
    classifier.metrics = metrics | {"versions": versions(), "seed": config.seed}
    if is_first_process():
        write_json(folder / "history.json", history)
        write_json(folder / METRICS, classifier.metrics)
        card = model_card(folder.name, config.to_dict(), metrics, list(classifier.labels))
        write_text(folder / "README.md", card)
        save(classifier, folder)
        shutil.rmtree(folder / "checkpoints", ignore_errors=True)
    return classifier


def run_folder(config: TrainConfig) -> Path:
    """Where a run goes if no folder is named: runs/<task>-<defence>."""
    return Path("runs") / f"{config.task or Path(str(config.data)).stem}-{config.defence}"


def _start(folder: Path, config: TrainConfig, overwrite: bool) -> None:
    """Write the configuration; with ``overwrite``, the traces of the run before go first."""
    if overwrite:
        for name in (MARKER, "predictions.jsonl"):
            (folder / name).unlink(missing_ok=True)
        for part in ("checkpoints", "logs"):
            shutil.rmtree(folder / part, ignore_errors=True)
    write_text(folder / "config.yaml", yaml.safe_dump(config.to_dict(), sort_keys=False, allow_unicode=True))


def _claim(folder: Path, config: TrainConfig, overwrite: bool) -> None:
    """Make sure that the folder is free, or holds the unfinished run of the same configuration."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file. Give --out a folder.")
    saved = folder / "config.yaml"
    if overwrite and (saved.exists() or (folder / MARKER).exists()):
        return
    if (folder / MARKER).exists():
        raise UsageError(
            f"{folder} already holds a finished run. Choose another --out, or replace it with --overwrite."
        )
    if saved.exists():
        before = yaml.safe_load(saved.read_text(encoding="utf-8")) or {}
        now = config.to_dict()
        changed = sorted(name for name in now if before.get(name) != now[name])
        if changed:
            raise UsageError(
                f"{folder} holds an unfinished run with other settings ({', '.join(changed)}). Repeat its "
                "command to go on, choose another --out, or start afresh with --overwrite."
            )
    elif folder.is_dir() and any(not path.name.startswith(".") for path in folder.iterdir()):
        raise UsageError(f"{folder} is not empty and not a run of unfooled. Choose another --out.")
