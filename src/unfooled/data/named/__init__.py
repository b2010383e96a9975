"""The named tasks, one file per source. To add one: write its file, put it in ``TASKS``."""

from __future__ import annotations

from pathlib import Path

from unfooled.data.named.boolq import BOOLQ
from unfooled.data.named.movie_reviews import IMDB, MOVIE_REVIEWS
from unfooled.data.named.news import NEWS, NEWS_LEADS
from unfooled.data.named.snli import SNLI
from unfooled.data.named.spam import SPAM
from unfooled.data.split import TaskData, assemble
from unfooled.data.task import Task
from unfooled.errors import UsageError
from unfooled.registry import Registry

TASKS: Registry[Task] = Registry(
    "task",
    (MOVIE_REVIEWS, IMDB, NEWS, NEWS_LEADS, SPAM, SNLI, BOOLQ),
    needs=("description", "kind", "labels", "asset", "read"),
)


def task_names() -> list[str]:
    return list(TASKS)


def get_task(name: str) -> Task:
    try:
        return TASKS.choose(str(name))
    except UsageError as error:
        raise UsageError(f"{error} Your own file is used with --data FILE.") from error


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
