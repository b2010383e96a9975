"""The data that a training configuration names, and of which kind they are. PyTorch is not needed here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from unfooled import data
from unfooled.data import TaskData
from unfooled.data.images import is_image_task
from unfooled.data.qa import QuestionData, has_questions, load_questions
from unfooled.errors import UsageError
from unfooled.storage.config import TrainConfig
from unfooled.training.image_data import ImageTaskData, load_image_data

AnyTaskData = TaskData | ImageTaskData | QuestionData
DataKindName = Literal["image", "qa", "text"]
_DEFAULTS: Mapping[DataKindName, Mapping[str, Any]] = {
    "text": {"encoder": "minilm", "epochs": 2.0, "batch_size": 32},
    "qa": {"encoder": "minilm", "epochs": 2.0, "batch_size": 16},
    "image": {"encoder": "small-cnn", "epochs": 10.0, "batch_size": 128, "lr": 1e-3},
}
"""What is not given, for each kind of data."""
_COLUMNS = ("text_column", "pair_column", "label_column")
_TEXT_ONLY = (*_COLUMNS, "layers", "max_length", "dev_data", "test_data")


def kind_name(config: TrainConfig) -> DataKindName:
    """The kind of data that a configuration names: as it says, or as the data look."""
    if config.kind is not None:
        return config.kind
    if has_images(config):
        return "image"
    own = config.data is not None and has_questions(config.data, encoding=config.encoding)
    return "qa" if own else "text"


def has_images(config: TrainConfig) -> bool:
    """Whether the configuration names images: an image task, a folder, or an ``.npz`` file."""
    named = str(config.task or config.data)
    own = config.data is not None and (Path(named).is_dir() or named.endswith(".npz"))
    return own or is_image_task(named)


def with_defaults(config: TrainConfig) -> TrainConfig:
    """The configuration with what depends on the kind of data filled in."""
    values = _DEFAULTS[kind_name(config)].items()
    return replace(config, **{name: own for name, own in values if getattr(config, name) is None})


def load_any(config: TrainConfig) -> AnyTaskData:
    """The data that a configuration names, of whatever kind, in splits."""
    return _LOADERS[kind_name(config)](config)


def load_question_task(config: TrainConfig) -> QuestionData:
    """The questions that a configuration names; settings that are for other data are refused."""
    given = [
        f"--{name.replace('_', '-')}" for name in (*_COLUMNS, "labels") if getattr(config, name) is not None
    ]
    given += ["--augment"] if config.augment else []
    if given:
        raise UsageError(f"{', '.join(given)}: not for questions, which {config.data or config.task} holds.")
    if config.data is None:
        raise UsageError(f"--task {config.task} has no questions. Name a file with questions with --data.")
    return load_questions(
        config.data,
        dev=config.dev_data,
        test=config.test_data,
        seed=config.seed,
        limit=config.limit,
        limit_dev=config.limit_dev,
        limit_test=config.limit_test,
        encoding=config.encoding,
        lenient=config.lenient,
    )


def load_image_task(config: TrainConfig) -> ImageTaskData:
    """The images that a configuration names; settings that are for texts are refused."""
    given = [f"--{name.replace('_', '-')}" for name in _TEXT_ONLY if getattr(config, name) is not None]
    given += [
        option for option, on in (("--keep-test", config.keep_test), ("--lenient", config.lenient)) if on
    ]
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
    if config.lenient:
        raise UsageError("--lenient is for questions; these are texts.")
    if (kind := kind_name(config)) != "text":
        found = {"image": "images", "qa": "questions"}[kind]
        raise UsageError(f"{config.task or config.data} has {found}, and this needs texts.")
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


_LOADERS: Mapping[DataKindName, Callable[[TrainConfig], AnyTaskData]] = {
    "image": load_image_task,
    "qa": load_question_task,
    "text": load_data,
}
