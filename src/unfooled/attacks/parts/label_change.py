"""For which labels a change of meaning changes the label (Chen et al. 2022, §3.2).

An obstinate attack turns the meaning of one text and hopes that the model overlooks it. With a neutral pair
the truth may well stay neutral, and two texts that are no paraphrases do not become ones by a change.
"""

from __future__ import annotations

from unfooled.attacks.attempt import Attempt, NothingToChange

_PARAPHRASE = ("duplicate", "equivalent", "paraphrase")


def check_label_changes(attempt: Attempt) -> None:
    """Raise ``NothingToChange`` for an example whose label a change of meaning leaves as it is."""
    names = [name.strip().casefold() for name in attempt.label_names]
    if not names:
        return
    truth = names[attempt.example.label]
    if truth == "neutral":
        raise NothingToChange("a neutral example stays neutral when its meaning changes")
    if any(name in _PARAPHRASE for name in names) and truth not in _PARAPHRASE:
        raise NothingToChange("texts that differ in meaning still do when one is changed")
