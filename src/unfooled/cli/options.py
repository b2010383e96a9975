"""Options that several commands have, each described once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

Run = Annotated[Path, typer.Argument(help="Folder of a trained run.", show_default=False)]

# What to train on.
Task = Annotated[str | None, typer.Option(help="Named task (see `unfooled train --list-tasks`).")]
Data = Annotated[
    str | None,
    typer.Option(help="Your training file (CSV, TSV, JSONL, Parquet), or hub:NAME[:CONFIGURATION]."),
]
DevData = Annotated[str | None, typer.Option(help="Your dev file (default: 10 % of the training data).")]
TestData = Annotated[
    str | None, typer.Option(help="Your test file (default: held out of the training data).")
]
TextColumn = Annotated[str | None, typer.Option(help="Column with the text.")]
PairColumn = Annotated[str | None, typer.Option(help="Column with the second text of a pair.")]
LabelColumn = Annotated[str | None, typer.Option(help="Column with the label.")]
Labels = Annotated[
    str | None, typer.Option(help="Label names in order, e.g. ham,spam (default: found in the data).")
]
Encoding = Annotated[str | None, typer.Option(help="Character encoding of the files (default: utf-8).")]
Limit = Annotated[int | None, typer.Option(help="Use only so many training examples.")]
LimitDev = Annotated[int | None, typer.Option(help="Use only so many dev examples.")]
LimitTest = Annotated[int | None, typer.Option(help="Use only so many test examples.")]

# How to train.
Defence = Annotated[
    str | None, typer.Option(help="Defence (default: standard; see `unfooled train --list-defences`).")
]
DefenceSettings = Annotated[
    list[str] | None,
    typer.Option("--set", help="A setting of the defence, e.g. --set sigma=0.3. Repeatable."),
]
Encoder = Annotated[str | None, typer.Option(help="Encoder: asset name, folder or hub id (default: minilm).")]
Layers = Annotated[int | None, typer.Option(help="Keep only the first so many encoder blocks.")]
Epochs = Annotated[float | None, typer.Option(help="Passes over the training data (default: 2).")]
Lr = Annotated[float | None, typer.Option(help="Peak learning rate (default: the defence's).")]
BatchSize = Annotated[int | None, typer.Option(help="Examples a step (default: 32).")]
MaxLength = Annotated[int | None, typer.Option(help="Tokens read of each text (default: the task's).")]
Patience = Annotated[
    int | None, typer.Option(help="Stop after so many epochs without a better dev accuracy.")
]
Device = Annotated[str | None, typer.Option(help="auto, cpu, cuda, mps (default: auto).")]
Precision = Annotated[
    str | None,
    typer.Option(help="auto, float32 or bf16 (default: auto, bf16 where the hardware has it)."),
]

# How to predict.
PredictorName = Annotated[
    str | None,
    typer.Option(
        help="Another predictor than the run's: plain, two-step, vote, sequential, random-mask, safer, …"
    ),
]
PredictorSettings = Annotated[
    list[str] | None, typer.Option("--set", help="A setting of the predictor, e.g. --set votes=50.")
]


def predictor_choice(name: str | None, assignments: list[str] | None) -> dict[str, Any]:
    """Which predictor ``--predictor`` and its settings ask for; empty for the run's own."""
    from unfooled.settings import parse_assignments

    return ({"name": name} if name else {}) | parse_assignments(assignments or [])
