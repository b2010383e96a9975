"""The named tasks, one file a source. To add one: write its file, put it in this list."""

from __future__ import annotations

import difflib

from unfooled.data.named.boolq import BOOLQ
from unfooled.data.named.movie_reviews import IMDB, MOVIE_REVIEWS
from unfooled.data.named.news import NEWS
from unfooled.data.named.snli import SNLI
from unfooled.data.named.spam import SPAM
from unfooled.data.task import Task
from unfooled.errors import UsageError

TASKS: dict[str, Task] = {task.name: task for task in (MOVIE_REVIEWS, IMDB, NEWS, SPAM, SNLI, BOOLQ)}


def task_names() -> list[str]:
    return list(TASKS)


def get_task(name: str) -> Task:
    if name in TASKS:
        return TASKS[name]
    close = difflib.get_close_matches(str(name).lower().replace("_", "-"), TASKS, n=1, cutoff=0.5)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise UsageError(
        f"There is no task named {name!r}.{hint} Named tasks: {', '.join(TASKS)}."
        " Your own file is used with --data FILE."
    )
