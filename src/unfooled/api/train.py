"""``unfooled.train``: a configuration in, a run folder and its classifier out.

Run the same command again after an interruption and it goes on from the last checkpoint. A run folder
is finished when it holds ``unfooled.json``. A run that replaces another one is built beside it and takes its
place at the end (:mod:`unfooled.storage.replacement`).
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import fields, replace
from pathlib import Path
from typing import Literal

import yaml
from torch import nn

from unfooled.api.arguments import checks_arguments
from unfooled.api.jobs.prepare_training import (
    PREPARATION,
    check_preparation,
    prepare_training,
    remove_scaffolding,
)
from unfooled.api.load import MARKER, METRICS, load, save
from unfooled.api.pictures import PICTURES, kept, mask_pictures
from unfooled.errors import UsageError
from unfooled.files import read_yaml, writable, write_json, write_text
from unfooled.models import own_name
from unfooled.predictors import Classifier
from unfooled.storage.card import model_card
from unfooled.storage.config import TrainConfig, conditions_of, make_config
from unfooled.storage.locks import alone
from unfooled.storage.provenance import versions
from unfooled.storage.replacement import beside, swap
from unfooled.training.data import AnyTaskData, has_images, with_defaults
from unfooled.training.fit import Prepared, fit, is_first_process, prepare
from unfooled.training.image_data import ImageTaskData
from unfooled.training.run_rows import ROWS, TEST, keeps_test, write_rows


@checks_arguments
def train(
    out: str | Path | None = None,
    *,
    task: str | None = None,
    data: str | None = None,
    kind: Literal["text", "qa", "image"] | None = None,
    dev_data: str | None = None,
    test_data: str | None = None,
    text_column: str | None = None,
    pair_column: str | None = None,
    label_column: str | None = None,
    lenient: bool = False,
    labels: Sequence[str] | None = None,
    encoding: str = "utf-8",
    defence: str = "standard",
    settings: Mapping[str, object] | None = None,
    encoder: str | None = None,
    layers: int | None = None,
    epochs: float | None = None,
    lr: float | None = None,
    batch_size: int | None = None,
    max_length: int | None = None,
    warmup: float = 0.06,
    schedule: str = "linear",
    weight_decay: float = 0.01,
    clip: float = 1.0,
    patience: int = 0,
    augment: Sequence[str] = (),
    limit: int | None = None,
    limit_dev: int | None = None,
    limit_test: int | None = None,
    keep_test: bool | None = None,
    seed: int = 0,
    device: str = "auto",
    precision: str = "auto",
    data_workers: int = 0,
    checkpoint_every: int | str = "10min",
    overwrite: bool = False,
    workers: int | None = None,
    ray: str | None = None,
    model: nn.Module | None = None,
    progress: bool = True,
) -> Classifier:
    """Train a classifier and save it as the run folder ``out`` (default: runs/TASK-DEFENCE).

    Name what to train on, ``task`` or ``data``. ``defence`` may be a combination (``"a+b"``); ``settings``
    are those of the defence (``unfooled train --list-defences``). The other parameters are the fields of
    :class:`TrainConfig`, where each is explained. Run the same call again after an interruption and it goes
    on; ``overwrite`` replaces a run once the new one is whole, and keeps the old one as OUT.previous.
    ``workers`` processes, or the Ray cluster at ``ray``, share the attack that a defence makes before it
    trains (advaug). ``model`` is a network of your own for images, from pixels from 0 to 1 ``(images,
    channels, height, width)`` to scores; it is trained in place, and opened again by ``unfooled.load(out,
    model=…)``. ``progress=False`` shows no bar. The classifier that comes back has its ``metrics``.

    >>> clf = unfooled.train("runs/rsmi", task="movie-reviews", defence="rsmi", settings={"sigma": 0.3})
    """
    given = locals()
    values = {field.name: given[field.name] for field in fields(TrainConfig)}
    config = make_config(values | {"settings": dict(settings or {})})
    return train_as(
        config, out, overwrite=overwrite, workers=workers, ray=ray, model=model, progress=progress
    )


@checks_arguments
def train_as(
    config: TrainConfig,
    out: str | Path | None = None,
    *,
    overwrite: bool = False,
    workers: int | None = None,
    ray: str | None = None,
    model: nn.Module | None = None,
    progress: bool = True,
) -> Classifier:
    """:func:`train` with a configuration that was made already."""
    if model is not None:
        config = _with_own(config, model)
    config = with_defaults(config)
    folder = run_folder(config) if out is None else Path(out)
    replaces = overwrite and _holds_a_model(folder)
    place = beside(folder) if replaces else folder
    if replaces and (place / MARKER).is_file() and not _changed(place, config):
        whole = load(place, model=model, device=config.device, precision=config.precision)
        return _moved_in(folder, whole)
    if not replaces:
        _claim(folder, config, overwrite)
    prepared = prepare(config, model)
    check_preparation(prepared, workers, ray)
    with alone(place, "training") if is_first_process() else nullcontext():
        if not replaces and is_first_process():
            _claim(folder, config, overwrite)  # again: another training may have ended meanwhile
        afresh = bool(_changed(place, config)) if replaces else overwrite
        classifier = _trained(
            prepared, folder, place, afresh=afresh, workers=workers, ray=ray, progress=progress
        )
    return _moved_in(folder, classifier) if replaces else classifier


def _trained(
    prepared: Prepared,
    folder: Path,
    place: Path,
    *,
    afresh: bool,
    workers: int | None,
    ray: str | None,
    progress: bool,
) -> Classifier:
    """Train in ``place`` the run that will be ``folder``."""
    config = prepared.config
    if is_first_process():
        _start(place, config, afresh=afresh)
        write_rows(place, folder, config, prepared.splits)
        _tell_dropped(prepared.splits)
    made = prepare_training(prepared, place, workers=workers, ray=ray)
    metrics = fit(prepared, place, made, progress=progress)
    history = metrics.pop("history")
    classifier = prepared.classifier
    classifier.folder = folder.absolute()
    sizes = {name: len(rows) for name, rows in prepared.splits.rows.items()}
    dropped = dict(prepared.splits.dropped)
    metrics["data"] = {**sizes, "dropped": dropped, "test_kept": keeps_test(config)}
    classifier.metrics = metrics | {"versions": versions(), "seed": config.seed}
    if is_first_process():
        write_json(place / "history.json", history)
        write_json(place / METRICS, classifier.metrics)
        card = model_card(
            folder.name, config.to_dict(), metrics, list(classifier.labels), reads=classifier.model.kind
        )
        write_text(place / "README.md", card)
        if isinstance(prepared.splits, ImageTaskData) and (
            made_of := mask_pictures(classifier, prepared.splits)
        ):
            write_json(place / PICTURES, kept(made_of))
        save(classifier, place)
        shutil.rmtree(place / "checkpoints", ignore_errors=True)
        remove_scaffolding(place)
    return classifier


def _with_own(config: TrainConfig, model: nn.Module) -> TrainConfig:
    """The configuration that says which network of the user's is trained."""
    if not has_images(config):
        raise UsageError("model is for images: for texts, name an encoder, or use unfooled.wrap.")
    name = own_name(model)
    if config.encoder not in (None, name):
        raise UsageError("Give encoder or model, not both.")
    return replace(config, encoder=name)


def run_folder(config: TrainConfig) -> Path:
    """Where a run goes if no folder is named: runs/<task>-<defence>."""
    return Path("runs") / f"{config.task or Path(str(config.data)).stem}-{config.defence}"


def _start(place: Path, config: TrainConfig, *, afresh: bool) -> None:
    """Write the configuration; ``afresh``: the traces of an unfinished run go first."""
    if afresh:
        for part in ("checkpoints", "logs", PREPARATION):
            shutil.rmtree(place / part, ignore_errors=True)
        for name in (MARKER, ROWS, TEST):  # MARKER: of a replacement with other settings, not moved in
            (place / name).unlink(missing_ok=True)
    write_text(place / "config.yaml", yaml.safe_dump(config.to_dict(), sort_keys=False, allow_unicode=True))


def _tell_dropped(data: AnyTaskData) -> None:
    """Say which rows are left out of train and dev, duplicates between the splits among them."""
    if data.dropped:
        told = "; ".join(f"{count:,} {reason}" for reason, count in data.dropped.items())
        print(f"Left out of the data: {told}.", file=sys.stderr)


def _moved_in(folder: Path, classifier: Classifier) -> Classifier:
    """The new run takes the place of the old one, which is kept with its results."""
    old = swap(folder) if is_first_process() else None
    classifier.folder = folder.absolute()
    if old is not None:
        print(
            f"The run that was in {writable(folder)} is now {writable(old)}, with its results.",
            file=sys.stderr,
        )
    return classifier


def _holds_a_model(folder: Path) -> bool:
    """Whether there is a finished run to replace, or its replacement was stopped between two moves."""
    return (folder / MARKER).exists() or (not folder.exists() and (beside(folder) / MARKER).exists())


def _claim(folder: Path, config: TrainConfig, overwrite: bool) -> None:
    """Make sure that the folder is free, or holds the unfinished run of the same configuration."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file. Give --out a folder.")
    saved = folder / "config.yaml"
    if overwrite and saved.exists():
        return
    if (folder / MARKER).exists():
        raise UsageError(
            f"{folder} already holds a finished run. Choose another --out, or replace it with --overwrite."
        )
    if saved.exists():
        if changed := _changed(folder, config):
            raise UsageError(
                f"{folder} holds an unfinished run with other settings ({', '.join(changed)}). Repeat its "
                "command to go on, choose another --out, or start afresh with --overwrite."
            )
    elif folder.is_dir() and any(not path.name.startswith(".") for path in folder.iterdir()):
        raise UsageError(f"{folder} is not empty and not a run of unfooled. Choose another --out.")


def _changed(folder: Path, config: TrainConfig) -> list[str]:
    """The settings in which the run in the folder, if there is one, differs from the configuration."""
    saved = folder / "config.yaml"
    if not saved.exists():
        return []
    before, now = conditions_of(read_yaml(saved)), config.conditions()
    return sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
