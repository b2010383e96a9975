"""The kinds of data that can be trained on, by the name that ``training/data.py`` recognises them by.

A new kind is a loader there, a file like ``text_kind.py``, and a line here.
"""

from __future__ import annotations

from collections.abc import Mapping

from unfooled.storage.config import TrainConfig
from unfooled.training.data import DataKindName, kind_name
from unfooled.training.data_kind import DataKind
from unfooled.training.image_kind import IMAGES
from unfooled.training.question_kind import QUESTIONS
from unfooled.training.text_kind import TEXTS

KINDS: Mapping[DataKindName, DataKind] = {"image": IMAGES, "qa": QUESTIONS, "text": TEXTS}


def kind_of(config: TrainConfig) -> DataKind:
    """The kind of data that a configuration names."""
    return KINDS[kind_name(config)]
