"""Options that several commands have, each described once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unfooled.cli.options import completion
from unfooled.cli.options.declared import Options
from unfooled.data.inputs import Inputs
from unfooled.errors import UsageError
from unfooled.settings import LARGEST_SEED, check_seed

if TYPE_CHECKING:
    from unfooled.storage.result_sets import SetName

Run = Annotated[Path, typer.Argument(help="Folder of a trained run.", show_default=False)]

INPUTS = Options(Inputs, leave_out=["texts", "pairs", "labels", "tensors"])

# Who does the work.
Workers = Annotated[
    int | None,
    typer.Option(help="Worker processes that share the work (default: 1). Changes speed and memory only."),
]
Ray = Annotated[
    str | None,
    typer.Option(help="Address of a Ray cluster that does the work, or local. Needs the extra ray."),
]

DefenceSettings = Annotated[
    list[str] | None,
    typer.Option("--set", help="A setting of the defence, e.g. --set sigma=0.3. Repeatable."),
]

Name = Annotated[
    str | None,
    typer.Option(
        "--name",
        help="Name of the result set in the run folder (default: the one that answers this question, else "
        "a new one).",
    ),
]

DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Show the number of inputs and an estimated time, from a trial on a few. Nothing is kept.",
    ),
]

# How to predict.
PredictorName = Annotated[
    str | None,
    typer.Option(
        help="Another predictor than the run's: plain, two-step, vote, sequential, random-mask, safer, …",
        autocompletion=completion.predictors,
    ),
]
PredictorSettings = Annotated[
    list[str] | None, typer.Option("--set", help="A setting of the predictor, e.g. --set votes=50.")
]


def kept_in(out: Path | None, name: str | None) -> Path | SetName | None:
    """Where ``--out`` or ``--name`` asks to keep results."""
    from unfooled.storage.result_sets import SetName

    if out is not None and name is not None:
        raise UsageError("Give --name (a result set of the run) or --out (a folder anywhere), not both.")
    return out if name is None else SetName(name)


def seed_or_secret(seed: int, *, at_most: int = LARGEST_SEED) -> int | None:
    """-1 on the command line is a seed that is drawn in secret: None."""
    chosen = None if seed == -1 else seed
    check_seed(chosen, at_most=at_most)
    return chosen


def predictor_choice(name: str | None, assignments: list[str] | None) -> dict[str, Any]:
    """Which predictor ``--predictor`` and its settings ask for; empty for the run's own."""
    from unfooled.settings import parse_assignments

    return ({"name": name} if name else {}) | parse_assignments(assignments or [])


QuestionAsked = Annotated[
    list[str] | None,
    typer.Option("--question", help="Question, for a run on questions. Repeatable.", show_default=False),
]
QuestionContext = Annotated[
    list[str] | None,
    typer.Option(
        "--context", help="Context of the question; one for all, or one for each.", show_default=False
    ),
]


def questions_with_contexts(questions: list[str], contexts: list[str]) -> tuple[list[str], list[str]]:
    """Questions with a context each."""
    if len(contexts) == 1:
        contexts = contexts * len(questions)
    if not questions or len(contexts) != len(questions):
        raise UsageError(
            f"{len(questions)} --question but {len(contexts)} --context: give one context for all questions, "
            "or one for each."
        )
    return questions, contexts
