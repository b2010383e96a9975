"""Sentences of a text, by their punctuation: enough to show where something stands, in several alphabets."""

from __future__ import annotations

import re

_END = re.compile(r"(?:[.!?…]+[\"'”’)\]]*(?=\s)|[。！？]+[」』”’）]*|\n)\s*")


def sentences(text: str) -> list[tuple[int, int]]:
    """(first character, past the last) of each sentence, white space around it aside."""
    found, start = [], 0
    for end in [*(match.end() for match in _END.finditer(text)), len(text)]:
        own = text[start:end]
        if own.strip():
            lead = len(own) - len(own.lstrip())
            found.append((start + lead, start + len(own.rstrip())))
        start = end
    return found


def sentence_around(text: str, start: int, end: int) -> tuple[int, int]:
    """The sentence, or the sentences, that hold these characters; all of the text if none does."""
    touched = [one for one in sentences(text) if one[1] > start and one[0] < end]
    return (touched[0][0], touched[-1][1]) if touched else (0, len(text))
