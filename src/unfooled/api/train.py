"""Train a classifier: data, encoder, defence and Trainer put together; the result is a run folder.

Run the same command again after an interruption and it goes on from the last checkpoint. A run folder
is finished when it holds ``unfooled.json``.
"""

from __future__ import annotations

import math
import os
import platform
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import yaml
from transformers import EarlyStoppingCallback, TrainingArguments, set_seed

from unfooled import __version__, data
from unfooled.api.load import MARKER, load, save
from unfooled.data import TaskData
from unfooled.defences import Defence, Training, TrainingData, make_defence, settings_of
from unfooled.errors import UsageError
from unfooled.files import write_json, write_text
from unfooled.hub.devices import device_and_bf16
from unfooled.hub.pretrained import location_of, open_model, open_tokenizer, quiet
from unfooled.models import Encoded, TextModel, as_text
from unfooled.predictors import Classifier
from unfooled.statistics.metrics import classification_metrics
from unfooled.storage.card import model_card
from unfooled.storage.config import TrainConfig, make_config
from unfooled.training.checkpoints import last_checkpoint
from unfooled.training.progress import ProgressBar
from unfooled.training.trainer import SessionTrainer, planned_steps


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
    settings: Mapping[str, Any] | None = None,
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
    """Train a classifier, save it as the run folder ``out`` (default: runs/TASK-DEFENCE), and load it.

    Name what to train on, ``task`` or ``data``; ``settings`` are those of the defence. The other parameters
    are the fields of :class:`TrainConfig`, where each is explained. Run the same call again after an
    interruption and it goes on; ``overwrite`` replaces a run.

    >>> clf = unfooled.train("runs/plain", task="movie-reviews", defence="standard")
    """
    given = dict(locals())
    del given["out"], given["overwrite"]
    given["settings"] = dict(settings or {})
    config = make_config(given)
    folder = run_folder(out, given)
    chosen = make_defence(config.defence, config.settings)
    _claim(folder, config, overwrite)
    classifier, metrics = _train(folder, config, chosen, overwrite)
    _finish(folder, config, classifier, metrics)
    return load(folder, device=config.device, precision=config.precision)


def run_folder(out: str | Path | None, settings: Mapping[str, Any]) -> Path:
    """Where a run goes: ``out``, or runs/<task>-<defence>."""
    if out is not None:
        return Path(out)
    source = settings.get("task") or Path(str(settings.get("data"))).stem
    return Path("runs") / f"{source}-{settings.get('defence', 'standard')}"


def load_data(config: TrainConfig) -> TaskData:
    """The splits that a configuration names."""
    limits: dict[str, Any] = {
        "seed": config.seed,
        "limit": config.limit,
        "limit_dev": config.limit_dev,
        "limit_test": config.limit_test,
    }
    columns: dict[str, Any] = {
        "text_column": config.text_column,
        "pair_column": config.pair_column,
        "label_column": config.label_column,
    }
    if config.task is not None:
        given = [f"--{name.replace('_', '-')}" for name, value in columns.items() if value is not None]
        if given:
            raise UsageError(
                f"{', '.join(given)}: columns are for --data; the task '{config.task}' has its own."
            )
        return data.load(config.task, **limits)
    source = str(config.data)
    columns["labels"] = config.labels
    if source.startswith("hub:"):
        name, _, configuration = source.removeprefix("hub:").partition(":")
        return data.load_hub(name, config=configuration or None, **columns, **limits)
    return data.load_files(
        source,
        dev=config.dev_data,
        test=config.test_data,
        encoding=config.encoding,
        **columns,
        **limits,
    )


def evaluate_split(classifier: Classifier, split: Any, *, seed: int = 0) -> dict[str, Any]:
    """Clean metrics of a split, through the predictor that is deployed."""
    return _evaluate(classifier, _encode(as_text(classifier.model), split), list(split["label"]), seed)


def _evaluate(classifier: Classifier, encoded: list[Encoded], truth: list[int], seed: int) -> dict[str, Any]:
    started = time.perf_counter()
    decisions = classifier.decide(encoded, seed=seed)
    metrics = classification_metrics(
        truth,
        [decision.label for decision in decisions],
        classifier.labels,
        abstained=[decision.abstained for decision in decisions],
        forwards=[decision.forwards for decision in decisions],
    )
    return metrics | {"seconds": time.perf_counter() - started}


def _encode(text: TextModel, split: Any) -> list[Encoded]:
    pairs = list(split["text_pair"]) if "text_pair" in split.column_names else None
    return text.encode(list(split["text"]), pairs)


@quiet()
def _train(
    folder: Path, config: TrainConfig, defence: Defence, overwrite: bool
) -> tuple[Classifier, dict[str, Any]]:
    device, bf16 = device_and_bf16(config.device, config.precision)
    set_seed(config.seed)
    splits = load_data(config)
    task = splits.task
    text = _build_model(config, list(task.labels), config.max_length or task.max_length)
    text.module.to(device)
    text.bf16 = bf16
    defence = defence.resolved(text)
    classifier = Classifier(
        text,
        defence.predictor(text),
        labels=task.labels,
        defence=config.defence,
        settings=settings_of(defence),
        task={"name": task.name, "kind": task.kind},
    )
    if overwrite:
        # Only now that data, encoder and settings are known to be good.
        for name in (MARKER, "predictions.jsonl"):
            (folder / name).unlink(missing_ok=True)
        for part in ("checkpoints", "logs"):
            shutil.rmtree(folder / part, ignore_errors=True)
    write_text(folder / "config.yaml", yaml.safe_dump(config.to_dict(), sort_keys=False, allow_unicode=True))

    arguments = _arguments(folder, config, defence, device, bf16)
    train = TrainingData(_encode(text, splits.train), list(splits.train["label"]))
    per_epoch = planned_steps(len(train), arguments)
    session = defence.begin(
        Training(text, train, task, seed=config.seed, steps=math.ceil(config.epochs * per_epoch))
    )
    dev, dev_labels = _encode(text, splits.dev), list(splits.dev["label"])
    bar = ProgressBar()
    trainer = SessionTrainer(
        session,
        dev_accuracy=lambda: float(_evaluate(classifier, dev, dev_labels, config.seed)["accuracy"]),
        args=arguments,
        processing_class=text.tokenizer,
        eval_dataset=splits.dev,
        callbacks=[bar, *([EarlyStoppingCallback(config.patience)] if config.patience else [])],
    )
    from transformers.trainer_callback import PrinterCallback, ProgressCallback

    trainer.remove_callback(PrinterCallback)
    trainer.remove_callback(ProgressCallback)
    last = last_checkpoint(folder / "checkpoints", processes=arguments.world_size)
    started = time.perf_counter()
    try:
        result = trainer.train(resume_from_checkpoint=last)
    finally:
        bar.close()
    seconds = time.perf_counter() - started
    metrics = {
        "train": {
            "seconds": seconds,
            "loss": result.training_loss,
            "examples": len(splits.train),
            "steps": trainer.state.global_step,
            "resumed": last is not None,
        },
        "dev": _evaluate(classifier, dev, dev_labels, config.seed),
        "test": evaluate_split(classifier, splits.test, seed=config.seed),
        "history": trainer.state.log_history,
    }
    return classifier, metrics


def _build_model(config: TrainConfig, labels: list[str], max_length: int) -> TextModel:
    location = location_of(config.encoder)
    changes: dict[str, Any] = {
        "num_labels": len(labels),
        "id2label": dict(enumerate(labels)),
        "label2id": {label: index for index, label in enumerate(labels)},
    }
    if config.layers is not None:
        changes["num_hidden_layers"] = config.layers
    model = open_model("AutoModelForSequenceClassification", location, **changes)
    return TextModel(model, open_tokenizer(location), max_length=max_length)


def _arguments(
    folder: Path, config: TrainConfig, defence: Defence, device: torch.device, bf16: bool
) -> TrainingArguments:
    os.environ["TENSORBOARD_LOGGING_DIR"] = str(folder / "logs")
    return TrainingArguments(
        output_dir=str(folder / "checkpoints"),
        num_train_epochs=config.epochs,
        learning_rate=config.lr if config.lr is not None else defence.learning_rate,
        per_device_train_batch_size=config.batch_size,
        warmup_steps=config.warmup,
        weight_decay=config.weight_decay,
        max_grad_norm=config.clip,
        optim="adamw_torch_fused",
        train_sampling_strategy="group_by_length",
        eval_strategy="epoch",
        save_strategy="epoch",
        save_total_limit=1,
        load_best_model_at_end=True,
        metric_for_best_model="accuracy",
        logging_steps=25,
        report_to=["tensorboard"],
        remove_unused_columns=False,
        dataloader_pin_memory=device.type == "cuda",
        bf16=bf16,
        use_cpu=device.type == "cpu",
        seed=config.seed,
        disable_tqdm=True,
        log_level="error",
    )


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


def _finish(folder: Path, config: TrainConfig, classifier: Classifier, metrics: dict[str, Any]) -> None:
    history = metrics.pop("history")
    write_json(folder / "history.json", history)
    write_json(folder / "metrics.json", metrics | {"versions": versions(), "seed": config.seed})
    write_text(
        folder / "README.md", model_card(folder.name, config.to_dict(), metrics, list(classifier.labels))
    )
    save(classifier, folder)
    shutil.rmtree(folder / "checkpoints", ignore_errors=True)


def versions() -> dict[str, str]:
    """What produced a result: recorded in every run."""
    import datasets
    import numpy
    import tokenizers
    import transformers

    modules = (torch, transformers, tokenizers, datasets, numpy)
    return {
        "unfooled": __version__,
        "python": platform.python_version(),
        **{module.__name__: module.__version__ for module in modules},
        "platform": platform.platform(terse=True),
        "threads": str(torch.get_num_threads()),
    }
