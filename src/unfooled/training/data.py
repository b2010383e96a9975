"""The data that a training configuration names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from unfooled import data
from unfooled.data import TaskData
from unfooled.data.images import is_image_task
from unfooled.errors import UsageError
from unfooled.storage.config import TrainConfig
from unfooled.training.image_data import ImageTaskData, load_image_data

AnyTaskData = TaskData | ImageTaskData
_DEFAULTS: dict[bool, dict[str, Any]] = {
    False: {"encoder": "minilm", "epochs": 2.0, "batch_size": 32},
    True: {"encoder": "small-cnn", "epochs": 10.0, "batch_size": 128, "lr": 1e-3},
}
"""What is not given, for texts and for images."""
_TEXT_ONLY = ("text_column", "pair_column", "label_column", "layers", "max_length", "dev_data", "test_data")


def has_images(config: TrainConfig) -> bool:
    """Whether the configuration names images: an image task, a folder, or an ``.npz`` file."""
    named = str(config.task or config.data)
    own = config.data is not None and (Path(named).is_dir() or named.endswith(".npz"))
    return own or is_image_task(named)


def with_defaults(config: TrainConfig) -> TrainConfig:
    """The configuration with what depends on the kind of data filled in."""
    values = _DEFAULTS[has_images(config)].items()
    return replace(config, **{name: own for name, own in values if getattr(config, name) is None})


def load_image_task(config: TrainConfig) -> ImageTaskData:
    """The images that a configuration names; settings that are for texts are refused."""
    given = [f"--{name.replace('_', '-')}" for name in _TEXT_ONLY if getattr(config, name) is not None]
    if config.keep_test:
        given.append("--keep-test")
    if given:
        raise UsageError(f"{', '.join(given)}: for texts only; {config.task or config.data} has images.")
    return load_image_data(
        str(config.task or config.data),
        seed=config.seed,
        limit=config.limit,
        limit_dev=config.limit_dev,
        limit_test=config.limit_test,
    )


def load_data(config: TrainConfig) -> TaskData:
    """The texts that a configuration names, in splits."""
    if config.augment:
        raise UsageError("--augment is for images; these are texts.")
    if has_images(config):
        raise UsageError(f"{config.task or config.data} has images, and this needs texts.")
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
