"""Load a named task."""

from __future__ import annotations

from pathlib import Path

from unfooled.data.named import get_task
from unfooled.data.split import TaskData, assemble


def load(
    task_name: str,
    *,
    seed: int = 0,
    limit: int | None = None,
    limit_dev: int | None = None,
    limit_test: int | None = None,
) -> TaskData:
    """The splits of a named task; its asset is fetched if it is not there yet.

    ``seed`` chooses the dev split and the order of train; the test split is always the
    same. The limits take stratified sub-samples, a smaller one being part of a larger one.
    """
    from unfooled import assets

    task = get_task(task_name)
    if task.asset is None or task.read is None:
        raise TypeError(f"{task.name} has no reader")
    folder = task.asset if isinstance(task.asset, Path) else assets.path(task.asset)
    splits = task.read(folder)
    return assemble(task, splits, seed=seed, limit=limit, limit_dev=limit_dev, limit_test=limit_test)
