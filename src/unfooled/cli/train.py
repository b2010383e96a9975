"""``unfooled train``: fine-tune an encoder with a defence."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from unfooled.cli.console import JsonOption, err, out, print_json, print_settings
from unfooled.cli.options import common_options as options
from unfooled.cli.options.declared import takes
from unfooled.errors import UsageError
from unfooled.files import read_yaml
from unfooled.records.metric import clean_score
from unfooled.storage.config import TrainConfig, make_config


@takes(training=TrainConfig)
def train(
    training: dict[str, object],
    set_: options.DefenceSettings = None,
    out_: Annotated[
        Path | None, typer.Option("--out", help="Folder for the run (default: runs/TASK-DEFENCE).")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="YAML file with the same names; options given here win.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a run; the old one is kept as OUT.previous.")
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(help="Worker processes that share the attack before training (advaug). Speed only."),
    ] = None,
    ray: Annotated[
        str | None, typer.Option(help="Address of a Ray cluster that does that attack, or local.")
    ] = None,
    list_defences: Annotated[
        bool, typer.Option("--list-defences", help="List the defences and their settings, then exit.")
    ] = False,
    list_tasks: Annotated[
        bool, typer.Option("--list-tasks", help="List the named tasks, then exit.")
    ] = False,
    json_: JsonOption = False,
) -> None:
    """Train a classifier with a defence; the result is a folder that every other command takes.

    Example: unfooled train --task movie-reviews --defence rsmi --out runs/rsmi

    Interrupted? Run the same command again: it goes on from the last checkpoint.
    """
    if list_tasks:
        return _list_tasks(json_)
    if list_defences:
        return _list_defences(json_)
    from unfooled.settings import parse_assignments

    values: dict[str, Any] = read_yaml(config) if config else {}
    folder = out_ or values.pop("out", None)
    if "task" in training:
        values.pop("data", None)
    elif "data" in training:
        values.pop("task", None)
    values.update(training)
    settings = values.get("settings") or {}
    if not isinstance(settings, dict):
        raise UsageError(f"{config}: settings must hold names and values, e.g. settings: {{sigma: 0.3}}.")
    values["settings"] = {**settings, **parse_assignments(set_ or [])}
    made = make_config(values)  # wrong names and values are told before PyTorch is loaded

    from unfooled.api.train import run_folder, train_as

    chosen = run_folder(made) if folder is None else Path(folder)
    classifier = train_as(made, chosen, overwrite=overwrite, workers=workers, ray=ray)
    metrics, reads = classifier.metrics, classifier.model.kind
    if json_:
        return print_json({"run": str(chosen), "metrics": metrics})
    for told in metrics.get("warnings", ()):
        err.print("Warning:", told, style="yellow", markup=False, soft_wrap=True)
    score = clean_score(metrics["test"])
    out.print(
        f"Trained in {metrics['train']['seconds']:.0f} s. Test {score.metric} [bold]{score.value:.3f}[/] "
        f"(95 % interval {score.low:.3f} to {score.high:.3f}, {metrics['test']['examples']} {reads}s).",
        markup=True,
    )
    example = _EXAMPLES.get("pair" if classifier.takes_pairs else reads, "image.png")
    out.print(f"Saved in {chosen}. Try it: unfooled predict {chosen} {example}", soft_wrap=True)
    if (chosen / "logs").is_dir():  # where TensorBoard is installed
        err.print(f"Curves: tensorboard --logdir {chosen / 'logs'}", style="dim")


_EXAMPLES = {
    "text": '"your text"',
    "pair": '"your text" --pair "its pair"',
    "question": '--question "…" --context "…"',
}
"""What to try a run on."""


def _list_tasks(as_json: bool) -> None:
    from unfooled import data
    from unfooled.data.images import ImageTask
    from unfooled.data.images.named import IMAGE_TASKS

    tasks: list[data.Task | ImageTask] = [
        *(data.get_task(name) for name in data.task_names()),
        *IMAGE_TASKS.values(),
    ]
    if as_json:
        return print_json(
            {
                "tasks": [
                    {"name": t.name, "description": t.description, "kind": t.kind, "labels": list(t.labels)}
                    for t in tasks
                ]
            }
        )
    from rich.table import Table

    table = Table("task", "what is asked", "input", "labels", box=None, pad_edge=False)
    for task in tasks:
        kind = {"pair": "two texts", "image": "image"}.get(task.kind, "one text")
        table.add_row(task.name, task.description, kind, ", ".join(task.labels))
    out.print(table)


def _list_defences(as_json: bool) -> None:
    from unfooled.defences import DEFENCES
    from unfooled.settings import describe_settings

    if as_json:
        return print_json(
            {
                "defences": [
                    {
                        "name": name,
                        "summary": cls.summary,
                        "predictor": cls.deployed_as,
                        "certifies": list(cls.certifies),
                        "settings": [vars(info) for info in describe_settings(cls)],
                    }
                    for name, cls in DEFENCES.items()
                ]
            }
        )
    for name, cls in DEFENCES.items():
        out.print(f"[bold]{name}[/]  {cls.summary}", markup=True)
        certifies = f"; trains for certificates against {', '.join(cls.certifies)}" if cls.certifies else ""
        out.print(f"  deployed as {cls.deployed_as}{certifies}", style="dim")
        print_settings(cls)
    out.print(
        "Combine defences with +, for example --defence stability+NAME. Where both have a setting, name "
        "the part: --set stability.sigma=0.2",
        style="dim",
    )
