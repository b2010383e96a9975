"""From a configuration to trained weights: data, model, defence and trainer put together.

:func:`prepare` finds out whether everything can be used, before a run folder is touched; :func:`fit` trains
and measures, and goes on from the last checkpoint if there is one. Under ``torchrun`` every process calls
both; the first one writes.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from accelerate import PartialState
from torch import nn
from transformers import EarlyStoppingCallback, TrainingArguments, set_seed
from transformers.integrations import is_tensorboard_available
from transformers.trainer_callback import PrinterCallback, ProgressCallback

from unfooled.data import TaskData
from unfooled.defences import (
    Defence,
    MadeExamples,
    Training,
    TrainingData,
    check_data,
    check_kind,
    make_defence,
    settings_of,
)
from unfooled.files import writing_below
from unfooled.hub.devices import device_and_bf16, machine_name
from unfooled.hub.pretrained import quiet
from unfooled.hub.schedules import make_schedule
from unfooled.models import Model
from unfooled.predictors import Classifier
from unfooled.storage.config import TrainConfig
from unfooled.training.checkpoint_times import CheckpointTimes
from unfooled.training.checkpoints import last_checkpoint
from unfooled.training.data import AnyTaskData, load_any, with_defaults
from unfooled.training.data_kind import DataKind
from unfooled.training.epoch_data import EpochData
from unfooled.training.kinds import kind_of
from unfooled.training.progress import ProgressBar
from unfooled.training.trainer import SessionTrainer, planned_steps
from unfooled.training.watch import few_steps


@dataclass(frozen=True)
class Prepared:
    """What a training needs, known to be good."""

    config: TrainConfig
    splits: AnyTaskData
    defence: Defence
    model: Model
    classifier: Classifier
    """The untrained model under the predictor of the defence."""


@quiet()
def prepare(config: TrainConfig, network: nn.Module | None = None) -> Prepared:
    """Read the data, open the encoder, fill in the defence; what cannot be used is refused.

    ``network`` is one of the user's, for images.
    """
    config = with_defaults(config)
    defence = make_defence(config.defence, config.settings)
    device_and_bf16(config.device, config.precision)
    set_seed(config.seed)
    splits = load_any(config)
    model = kind_of(config).opened(config, splits, network)
    task = splits.task
    check_kind(defence, model)
    defence = defence.resolved(model)
    if isinstance(splits, TaskData):
        check_data(defence, splits)
    classifier = Classifier(
        model,
        defence.predictor(model),
        labels=task.labels,
        defence=config.defence,
        settings=settings_of(defence),
        task={"name": task.name, "kind": task.kind, "metric": task.metric},
    )
    return Prepared(config, splits, defence, model, classifier)


@quiet()
def fit(
    prepared: Prepared,
    folder: Path,
    made: Mapping[str, MadeExamples] = MappingProxyType({}),
    *,
    progress: bool = True,
) -> dict[str, object]:
    """Train the classifier; its metrics on the splits and, as ``history``, what was logged on the way.

    ``made`` is what the defence asked for before training; without ``progress`` no bar is shown.
    """
    config, splits, classifier = prepared.config, prepared.splits, prepared.classifier
    model = prepared.model
    arguments = _arguments(folder, prepared)
    assert config.epochs is not None and config.batch_size is not None  # filled in by with_defaults
    kind = kind_of(config)
    data = kind.training(model, splits, config)
    steps = math.ceil(config.epochs * planned_steps(len(data), arguments))
    dev, test = (kind.held_out(model, splits, split) for split in ("dev", "test"))
    bar = ProgressBar(shown=progress and arguments.process_index == 0)
    session = prepared.defence.begin(
        Training(
            model,
            data,
            splits.task,
            seed=config.seed,
            steps=steps,
            epochs=config.epochs,
            made=made,
            process=arguments.process_index,
            processes=arguments.world_size,
            watch=bar.work,
        )
    )
    hurried = few_steps(steps, examples=len(data), batch_size=config.batch_size, epochs=config.epochs)
    for told in (hurried, *session.warnings()):
        bar.warn(told)

    def dev_score() -> float:
        measured = _evaluate(kind, classifier, dev, config.seed)
        bar.warn(kind.collapsed(measured))
        return float(measured[splits.task.metric])

    trainer = SessionTrainer(
        session,
        metric=splits.task.metric,
        dev_score=dev_score,
        schedule=make_schedule(config.schedule),
        args=arguments,
        processing_class=getattr(model, "tokenizer", None),
        eval_dataset=EpochData(dev),
        callbacks=[
            bar,
            CheckpointTimes(config.checkpoints, processes=arguments.world_size),
            *([EarlyStoppingCallback(config.patience)] if config.patience else []),
        ],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.remove_callback(ProgressCallback)
    if arguments.process_index:
        set_seed(config.seed + arguments.process_index)  # processes must not draw the same noise
    last = last_checkpoint(folder / "checkpoints", processes=arguments.world_size, tell=bar.warn)
    try:
        with writing_below(folder):
            result = trainer.train(resume_from_checkpoint=None if last is None else str(last))
    finally:
        bar.close()
    trainer.accelerator.wait_for_everyone()  # the best checkpoint is read by all before it may be removed
    seconds = trainer.seconds
    before = sum(one.seconds for one in made.values())
    measured = _evaluate(kind, classifier, dev, config.seed)
    warnings = (hurried, kind.collapsed(measured), *session.warnings())
    return {
        "train": {
            "seconds": before + seconds,
            "preparation_seconds": before,
            "loss": result.training_loss,
            "examples": len(splits.train),
            "steps": trainer.state.global_step,
            "kept_epoch": trainer.kept_epoch,
            "resumed": last is not None,
            "processes": arguments.world_size,
            "threads": torch.get_num_threads(),
        },
        "dev": measured,
        "test": _evaluate(kind, classifier, test, config.seed),
        "machine": f"{machine_name(model.device)}, {model.precision}",
        "defence": session.figures(),
        "warnings": [told for told in warnings if told],
        "history": trainer.state.log_history,
    }


def wait_for_all(prepared: Prepared, folder: Path) -> None:
    """Come back when every process of a distributed training has come so far."""
    if _arguments(folder, prepared).world_size > 1:
        PartialState().wait_for_everyone()


def is_first_process() -> bool:
    """False in the other processes of a distributed training: they write nothing."""
    return int(os.environ.get("RANK", "0")) == 0


def _evaluate(kind: DataKind, classifier: Classifier, data: TrainingData, seed: int) -> dict[str, Any]:
    started = time.perf_counter()
    decisions = classifier.decide(data.encoded, seed=seed)
    return kind.measure(classifier, data, decisions) | {"seconds": time.perf_counter() - started}


def _arguments(folder: Path, prepared: Prepared) -> TrainingArguments:
    config, model = prepared.config, prepared.model
    os.environ["TENSORBOARD_LOGGING_DIR"] = str(folder / "logs")
    return TrainingArguments(
        output_dir=str(folder / "checkpoints"),
        num_train_epochs=float(config.epochs or 0),
        learning_rate=config.lr if config.lr is not None else prepared.defence.learning_rate,
        per_device_train_batch_size=int(config.batch_size or 1),
        warmup_steps=config.warmup,
        weight_decay=config.weight_decay,
        max_grad_norm=config.clip,
        optim="adamw_torch_fused",
        eval_strategy="epoch",
        save_strategy="epoch",
        restore_callback_states_from_checkpoint=True,
        load_best_model_at_end=True,
        metric_for_best_model=prepared.splits.task.metric,
        logging_steps=25,
        report_to=["tensorboard"] if is_tensorboard_available() else [],
        remove_unused_columns=False,
        dataloader_pin_memory=model.device.type == "cuda",
        bf16=model.precision == "bf16",
        use_cpu=model.device.type == "cpu",
        dataloader_num_workers=config.data_workers,
        seed=config.seed,
        disable_tqdm=True,
        log_level="error",
    )
