"""Tasks and datasets: by name, from your own files, or from the Hugging Face hub.

>>> from unfooled import data
>>> data.task_names()                                    # quick: nothing heavy is imported
>>> data.load("movie-reviews", limit=1000).train[0]      # {'text': …, 'label': …, 'row': …}
>>> data.load_files("train.csv", text_column="review", label_column="stars")
"""

from __future__ import annotations

from unfooled.data.hub import load_hub
from unfooled.data.named import get_task, load, task_names
from unfooled.data.own import load_files
from unfooled.data.split import TaskData
from unfooled.data.task import Kind, Task
from unfooled.data.texts import arriving_lines, read_rows

__all__ = [
    "Kind",
    "Task",
    "TaskData",
    "arriving_lines",
    "get_task",
    "load",
    "load_files",
    "load_hub",
    "read_rows",
    "task_names",
]
