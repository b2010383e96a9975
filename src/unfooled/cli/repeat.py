"""``unfooled repeat``: how much a randomised predictor's answers vary from one evaluation to the next."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from unfooled.cli.console import JsonOption, err, leave_if_refused, out, print_json, show_kept
from unfooled.cli.options import common_options as options
from unfooled.cli.options.declared import takes
from unfooled.data.inputs import Inputs
from unfooled.files import JsonObject

BAR = 40


@takes(inputs=options.INPUTS)
def repeat(
    run: options.Run,
    inputs: dict[str, Any],
    repeats: Annotated[int, typer.Option(help="Independent evaluations.")] = 100,
    limit: Annotated[int, typer.Option(help="Number of inputs to use (stratified).")] = 200,
    predictor: options.PredictorName = None,
    set_: options.PredictorSettings = None,
    seed: Annotated[int, typer.Option(help="Seed of the first repeat; each further one adds 1.")] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, mps.")] = "auto",
    out_: Annotated[
        Path | None,
        typer.Option("--out", help="Folder for repeat.json and its journal (default: RUN/repeats/NAME)."),
    ] = None,
    name: options.Name = None,
    workers: options.Workers = None,
    ray: options.Ray = None,
    json_: JsonOption = False,
) -> None:
    """Evaluate the same inputs many times under independent noise, and report how the answers vary.

    Example: unfooled repeat runs/rsmi --repeats 100 --limit 200

    Interrupted? Run the same command again: finished repeats are kept. Exits with code 1 if an input was
    refused; the others are evaluated all the same.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from unfooled.api.repeat import repeat as measure
    from unfooled.records.row_check import row_notes

    with Progress(
        TextColumn("repeats"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=err
    ) as bar:
        shown = bar.add_task("repeats", total=None)
        report = measure(
            run,
            Inputs(**inputs),
            repeats=repeats,
            limit=limit,
            predictor=options.predictor_choice(predictor, set_),
            seed=seed,
            device=device,
            workers=workers,
            ray=ray,
            out=options.kept_in(out_, name),
            progress=lambda done, total: bar.update(shown, completed=done, total=total),
        ).to_dict()
    for note in row_notes(report):
        err.print(f"Note: {note}", style="yellow", markup=False, soft_wrap=True)
    if json_:
        print_json(report)
    else:
        _show(report)
        for one in report["refused"][:1]:
            err.print(f"refused, row {one['row']}: {one['message']}", soft_wrap=True)
        show_kept(report)
    leave_if_refused(len(report["refused"]), report["inputs"] + len(report["refused"]))


def _show(report: JsonObject) -> None:
    accuracy = report["accuracy"]
    name, texts = report["predictor"]["name"], f"{report['inputs']} texts of {report['source']}"
    if not report["random"]:
        out.print(
            f"The predictor {name} is deterministic: nothing varies. Accuracy {accuracy['mean']:.4f} on "
            f"{texts}, the same in every repeat.",
            soft_wrap=True,
            markup=False,
        )
        return
    std = "" if accuracy["std"] is None else f" ± {accuracy['std']:.4f}"
    low, high = report["majority_accuracy_interval"]
    out.print(
        f"{texts}, {report['repeats']} repeats of the predictor {name}, "
        f"{report['forwards_per_example']:.1f} forward passes per text",
        soft_wrap=True,
        markup=False,
    )
    out.print(
        f"accuracy          [bold]{accuracy['mean']:.4f}{std}[/]  min {accuracy['min']:.4f}  "
        f"median {accuracy['median']:.4f}  max {accuracy['max']:.4f}",
        soft_wrap=True,
        markup=True,
    )
    out.print(
        f"majority answers  {report['majority_accuracy']:.4f}  (95 % interval {low:.3f} to {high:.3f}: "
        "other texts of this kind)",
        soft_wrap=True,
    )
    out.print(
        f"ever changed      {report['changed_share']:.4f}  "
        f"({report['changed']} of {report['inputs']} texts had more than one answer)",
        soft_wrap=True,
    )
    out.print(
        f"agreement         {report['agreement']:.4f}  (mean share of a text's most frequent answer)",
        soft_wrap=True,
    )
    _show_histogram(report["accuracies"])


def _show_histogram(accuracies: list[float]) -> None:
    from unfooled.statistics.spread import histogram

    bins = histogram(accuracies)
    most = max(count for _, _, count in bins)
    out.print("\naccuracy of the repeats")
    for low, high, count in bins:
        label = f"{low:.4f}" if low == high else f"{low:.4f}–{high:.4f}"
        bar = "█" * max(1, round(BAR * count / most)) if count else ""
        out.print(f"{label:>13}  {bar} {count}", markup=False)
