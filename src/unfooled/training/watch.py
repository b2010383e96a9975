"""What shows that a training went wrong: said while it runs, kept in ``metrics.json`` as ``warnings``.

A loss that is not a number stops training. A model that gives one answer to all dev texts, and a training of
too few steps, are saved with a warning: the terminal, the model card and the report repeat it.
"""

from __future__ import annotations

import math
from pathlib import Path

from unfooled.errors import UserError
from unfooled.files import JsonMapping

FEWEST_STEPS = 10


class NotFinite(UserError):
    """The loss or the weights are no numbers any more."""


def check_finite(value: float, what: str, *, step: int, rate: float, checkpoints: Path) -> None:
    """Stop a training whose ``what`` at this step is NaN or infinite."""
    if math.isfinite(value):
        return
    kept = "No checkpoint was written yet."
    if any(checkpoints.glob("checkpoint-*")):
        kept = f"The checkpoints in {checkpoints} are kept."
    raise NotFinite(
        f"Training stopped: {what} is {value} at step {step}, so the weights are lost from here on. {kept} "
        f"Train with a lower --lr (it was {rate:g}), a longer --warmup, a smaller --clip or --precision "
        "float32; give another --out, or --overwrite to begin anew in this folder."
    )


def few_steps(steps: int, *, examples: int, batch_size: int, epochs: float) -> str | None:
    """A warning about a training that hardly changes the model."""
    if steps >= FEWEST_STEPS:
        return None
    return (
        f"Training has only {steps} optimiser {'step' if steps == 1 else 'steps'} ({examples:,} examples, "
        f"batches of {batch_size}, {epochs:g} {'epoch' if epochs == 1 else 'epochs'}): the model hardly "
        "learns from its data. Raise --epochs, lower --batch-size, or give more examples."
    )


def collapsed(dev: JsonMapping, things: str) -> str | None:
    """A warning about a model that does not tell the dev ``things`` apart; ``dev`` are its metrics there."""
    confusion, labels = dev["confusion"], dev["labels"]
    answers = [sum(column) for column in zip(*confusion, strict=True)]
    given = [label for label, count in zip(labels, answers, strict=True) if count]
    if not given:
        return (
            f"The model answers none of the {dev['examples']:,} dev {things}: it abstains on all. Train "
            "longer (--epochs), with another --lr, or abstain less."
        )
    if len(given) > 1 or sum(1 for row in confusion if any(row)) < 2:
        return None
    asked = f"{dev['examples']:,} dev {things}"
    asked += " that it answers" if sum(answers) < dev["examples"] else ""
    return (
        f"The model collapsed: it gives one answer, {given[0]!r}, to all {asked}. Train with another --lr, "
        "longer (--epochs), or with more examples per label."
    )
