"""For which labels a change of meaning changes the label (Chen et al. 2022, §3.2).

An obstinate attack turns the meaning of one text and hopes that the model overlooks it. With a neutral pair
the truth may well stay neutral; two texts that are no paraphrases do not become ones by a change, and where
one did not follow from the other it does not begin to.
Training against such attacks (BAT) skips the same labels.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from unfooled.attacks.attempt import Attempt, NothingToChange

_NEUTRAL = "neutral"
_INFERENCE = ("entailment", "contradiction")
_PARAPHRASE = ("duplicate", "equivalent", "paraphrase")
_NOT_ENTAILED = ("notentailment", "nonentailment", "noentailment")
_JOINTS = re.compile(r"[\s_-]+")


def check_label_changes(attempt: Attempt) -> None:
    """Raise ``NothingToChange`` for an example whose label a change of meaning leaves as it is."""
    if attempt.label_names and (reason := why_label_stays(attempt.label_names, attempt.example.label)):
        raise NothingToChange(reason)


def why_label_stays(label_names: Sequence[str], label: int) -> str | None:
    """Why a change of meaning leaves this label as it is; None if it changes it, as far as names tell."""
    names = _plain(label_names)
    if names[label] == _NEUTRAL:
        return "a neutral example stays neutral when its meaning changes"
    if _JOINTS.sub("", names[label]) in _NOT_ENTAILED:
        return "a text that does not follow from another does not begin to when the meaning of one changes"
    if any(name in _PARAPHRASE for name in names) and names[label] not in _PARAPHRASE:
        return "texts that differ in meaning still do when one is changed"
    return None


def names_tell(label_names: Sequence[str]) -> bool:
    """Whether the names are those of inference or paraphrase, where a change of meaning matters."""
    return not {*_INFERENCE, *_PARAPHRASE}.isdisjoint(_plain(label_names))


def _plain(label_names: Sequence[str]) -> list[str]:
    return [name.strip().casefold() for name in label_names]
