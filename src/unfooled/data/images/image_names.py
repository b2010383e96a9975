"""Names of image tasks with settings, as one writes them on a command line, read without running anything.

``mnist``, ``folder(pictures, size=32)``, ``background(cifar10, size=48, places=edges)``: a name, and in
brackets what it is made of and settings. Text with commas, brackets or equals signs stands in quotes; a
quote inside is doubled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from unfooled.errors import UsageError
from unfooled.parsing import parse_yaml, quoted

LONGEST = 4000
DEEPEST = 5
_MARKS = "(),="


@dataclass(frozen=True)
class ImageName:
    """A name, what stands first in its brackets, and the settings behind it."""

    name: str
    inner: ImageName | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        if self.inner is None and not self.settings:
            return _written(self.name)
        parts = [] if self.inner is None else [str(self.inner)]
        parts += [f"{key}={_written(value)}" for key, value in self.settings.items()]
        return f"{self.name}({', '.join(parts)})"


def parse_image_name(text: str) -> ImageName:
    """The name that the text stands for; a text that is none is refused with the place."""
    if not isinstance(text, str) or not text.strip():
        raise UsageError("The name of the image task is empty. Give one, for example mnist.")
    if len(text) > LONGEST:
        raise UsageError(f"The name of an image task has at most {LONGEST:,} characters, got {len(text):,}.")
    reader = _Reader(text)
    found = reader.one(depth=0)
    if reader.mark:
        raise reader.wrong(f"{reader.mark!r} was not expected")
    return found


class _Reader:
    """The text, and how far it is read."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    @property
    def mark(self) -> str:
        """The bracket, comma or equals sign that comes next; nothing at the end."""
        return self.text[self.at : self.at + 1]

    def wrong(self, what: str) -> UsageError:
        return UsageError(
            f"{quoted(self.text)}, character {self.at + 1}: {what}. Write NAME or NAME(WHAT, setting=value), "
            "for example background(cifar10, size=48)."
        )

    def word(self) -> tuple[str, bool]:
        """Text up to the next mark, and whether it stood in quotes."""
        while self.mark.isspace():
            self.at += 1
        quote = self.mark
        if quote in ("'", '"') and quote:
            found = ""
            while self.mark == quote:
                end = self.text.find(quote, self.at + 1)
                if end < 0:
                    raise self.wrong(f"the quote {quote} is not closed")
                found += self.text[self.at + 1 : end] + quote  # a doubled quote stands for one
                self.at = end + 1
            found = found[:-1]
            while self.mark.isspace():
                self.at += 1
            if self.mark and self.mark not in _MARKS:
                raise self.wrong(f"{self.mark!r} stands behind a quoted text")
            return found, True
        start = self.at
        while self.mark and self.mark not in _MARKS:
            self.at += 1
        return self.text[start : self.at].strip(), False

    def one(self, depth: int) -> ImageName:
        """A name with what is in its brackets."""
        if depth > DEEPEST:
            raise self.wrong(f"more than {DEEPEST} brackets are nested")
        name, _ = self.word()
        return self.rest(name, depth)

    def rest(self, name: str, depth: int) -> ImageName:
        if not name:
            raise self.wrong("a name is missing")
        if self.mark != "(":
            return ImageName(name)
        self.at += 1
        inner: ImageName | None = None
        settings: dict[str, Any] = {}
        while True:
            word, in_quotes = self.word()
            if self.mark == "=" and not in_quotes:
                self.at += 1
                if word in settings:
                    raise self.wrong(f"the setting {word!r} is given twice")
                settings[word] = self.value(word)
            elif word or in_quotes:
                if inner is not None or settings:
                    raise self.wrong(f"{quoted(word)} has no name; settings are given as name=value")
                if depth >= DEEPEST:
                    raise self.wrong(f"more than {DEEPEST} brackets are nested")
                inner = self.rest(word, depth + 1)
            elif inner is None and not settings and self.mark == ")":
                pass  # nothing in the brackets
            else:
                raise self.wrong("something is missing")
            if self.mark == ")":
                self.at += 1
                while self.mark.isspace():
                    self.at += 1
                return ImageName(name, inner, settings)
            if self.mark != ",":
                raise self.wrong(
                    "a bracket ')' is missing" if not self.mark else f"{self.mark!r} was not expected"
                )
            self.at += 1

    def value(self, key: str) -> Any:
        text, in_quotes = self.word()
        if in_quotes:
            return text
        if not text:
            raise self.wrong(f"the setting {key!r} has no value")
        return parse_yaml(text, f"{quoted(self.text)}: {key}")


def _written(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) or value is None else str(value)
    plain = not any(mark in text for mark in _MARKS + "'\"") and text == text.strip() and text
    looks_otherwise = isinstance(value, str) and not _reads_back(text)
    if plain and not looks_otherwise:
        return text
    return "'" + text.replace("'", "''") + "'"


def _reads_back(text: str) -> bool:
    try:
        return bool(parse_yaml(text, "") == text)
    except UsageError:
        return False
