"""The data that a training configuration names."""

from __future__ import annotations

from typing import Any

from unfooled import data
from unfooled.data import TaskData
from unfooled.errors import UsageError
from unfooled.storage.config import TrainConfig


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
