"""A bounded cache by text, for answers that are asked for again and again (embeddings, tags)."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

V = TypeVar("V")


class Recent(Generic[V]):
    """The ``size`` most recently used values by text; safe to share between threads."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._values: OrderedDict[str, V] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, text: str) -> V | None:
        with self._lock:
            value = self._values.get(text)
            if value is not None:
                self._values.move_to_end(text)
            return value

    def put(self, text: str, value: V) -> None:
        with self._lock:
            self._values[text] = value
            self._values.move_to_end(text)
            while len(self._values) > self.size:
                self._values.popitem(last=False)
