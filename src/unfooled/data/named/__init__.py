"""The named tasks, one file per source. To add one: write its file, put it in this list."""

from __future__ import annotations

from unfooled.data.named.boolq import BOOLQ
from unfooled.data.named.movie_reviews import IMDB, MOVIE_REVIEWS
from unfooled.data.named.news import NEWS
from unfooled.data.named.snli import SNLI
from unfooled.data.named.spam import SPAM
from unfooled.data.task import Task
from unfooled.errors import UsageError
from unfooled.registry import Registry

TASKS: Registry[Task] = Registry(
    "task",
    (MOVIE_REVIEWS, IMDB, NEWS, SPAM, SNLI, BOOLQ),
    needs=("description", "kind", "labels", "asset", "read"),
)


def task_names() -> list[str]:
    return list(TASKS)


def get_task(name: str) -> Task:
    try:
        return TASKS.choose(str(name))
    except UsageError as error:
        raise UsageError(f"{error} Your own file is used with --data FILE.") from error
