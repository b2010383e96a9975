"""``unfooled evaluate``: F1 and exact match on clean and adversarial files of questions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unfooled.cli.console import JsonOption, err, out, print_json
from unfooled.cli.options import common_options as options


def evaluate(
    run: options.Run,
    data: Annotated[
        str | None, typer.Option(help="File with clean questions (default: the run's test questions).")
    ] = None,
    adversarial: Annotated[
        list[str] | None,
        typer.Option(
            help="File with adversarial copies, ids ORIGINAL-SUFFIX. Repeatable.", show_default=False
        ),
    ] = None,
    generate: Annotated[
        list[str] | None,
        typer.Option(
            help="Make adversarial copies here: addsent (the worst counts), addonesent. Repeatable.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Number of questions to use from each file.")] = None,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Leave out bad records and count them, instead of refusing.")
    ] = False,
    allow_training_rows: Annotated[
        bool,
        typer.Option("--allow-training-rows", help="Include questions on paragraphs the run was trained on."),
    ] = False,
    encoding: Annotated[str, typer.Option(help="Character encoding of the files.")] = "utf-8",
    predictor: options.PredictorName = None,
    set_: options.PredictorSettings = None,
    seed: Annotated[int, typer.Option(help="Seed of the noise.")] = 0,
    fresh_answers: Annotated[
        int, typer.Option(help="How often the worst copies are asked again, if the predictor draws noise.")
    ] = 20,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, mps.")] = "auto",
    out_: Annotated[
        Path | None,
        typer.Option("--out", help="Folder for evaluation.json (default: RUN/evaluations/NAME)."),
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Measure a run that answers questions, on clean and adversarial files side by side.

    Example: unfooled evaluate runs/qa --data dev.json --adversarial add_sent.json --adversarial add_one.json

    A question counts with its worst copy. Questions on paragraphs of the training data are left out.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from unfooled.api.evaluate import evaluate as measure

    columns = (TextColumn("questions"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err) as bar:
        shown = bar.add_task("questions", total=None)
        report = measure(
            run,
            data,
            adversarial=adversarial or (),
            generate=generate or (),
            limit=limit,
            lenient=lenient,
            allow_training_rows=allow_training_rows,
            encoding=encoding,
            predictor=options.predictor_choice(predictor, set_),
            seed=seed,
            fresh_answers=fresh_answers,
            device=device,
            out=out_,
            progress=lambda done, total: bar.update(shown, completed=done, total=total),
        )
    if json_:
        return print_json(report.to_dict())
    out.print(repr(report), soft_wrap=True)
