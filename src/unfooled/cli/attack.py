"""``unfooled attack``: one or more published attacks on a run, or on any other classifier."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from unfooled.cli import attack_options as own
from unfooled.cli import options
from unfooled.cli.console import JsonOption, err, print_json
from unfooled.errors import UsageError

if TYPE_CHECKING:
    from unfooled.api.victim import Target


def attack(
    run: own.Victim = None,
    recipe: own.Recipe = "textfooler",
    set_: own.RecipeSettings = None,
    task: own.Task = None,
    data: own.Data = None,
    text_column: options.TextColumn = None,
    pair_column: options.PairColumn = None,
    label_column: options.LabelColumn = None,
    encoding: own.Encoding = "utf-8",
    split: own.Split = "test",
    limit: own.Limit = 200,
    query_budget: own.QueryBudget = None,
    max_changed: own.MaxChanged = None,
    protect: own.Protect = None,
    protect_pattern: own.ProtectPattern = None,
    sentence: own.Sentence = None,
    time_cap: own.TimeCap = None,
    fresh_predictions: own.FreshPredictions = None,
    cache_answers: own.CacheAnswers = False,
    validity: own.Validity = True,
    similarity: own.Similarity = None,
    masked_lm: own.MaskedLm = None,
    predictor: options.PredictorName = None,
    predictor_set: own.PredictorSet = None,
    victim_set: own.VictimSet = None,
    labels: own.Labels = None,
    seed: own.Seed = 0,
    in_flight: own.InFlight = 128,
    device: own.Device = "auto",
    precision: own.Precision = "float32",
    out_: own.Out = None,
    show: own.Show = 0,
    export: own.Export = None,
    list_: own.List = False,
    json_: JsonOption = False,
) -> None:
    """Attack a classifier and report how it stands up: accuracy before and after, success rate, cost.

    Example: unfooled attack runs/rsmi --recipe textfooler --limit 200 --show 3

    Interrupted? Run the same command again: finished examples are kept.
    """
    from unfooled.cli.attack_progress import attack_progress
    from unfooled.cli.attack_show import list_recipes, show_changes, show_report, show_table

    if list_:
        return list_recipes(json_)
    if run is None:
        raise UsageError("Name what to attack: the folder of a run, or hf:NAME, module:function, https://….")
    from unfooled.settings import build, parse_assignments

    limits = {
        "query_budget": query_budget,
        "max_changed": max_changed,
        "protect": protect,
        "protect_pattern": protect_pattern,
        "sentence": sentence,
        "time_cap": time_cap,
        "fresh_predictions": fresh_predictions,
        "cache_answers": cache_answers or None,
    }
    tools = {"similarity": similarity, "masked_lm": masked_lm, "validity": validity}
    victim_options = parse_assignments(victim_set or [])
    if labels:
        victim_options["labels"] = [name.strip() for name in labels.split(",")]
    chosen = _recipes(recipe, parse_assignments(set_ or []))
    _check_numbers(limit, in_flight, show)

    from unfooled.api.attack import attack as run_attack
    from unfooled.api.victim import open_target
    from unfooled.attacks import Limits
    from unfooled.attacks.tools import Tools
    from unfooled.data.inputs import Inputs
    from unfooled.files import writable
    from unfooled.records.export import check_export, export_outcomes
    from unfooled.storage.provenance import recorded_command

    # Wrong options are told before anything is loaded.
    made_limits = build(Limits, _given(limits), owner="limits")
    made_tools = build(Tools, _given(tools), owner="attack")
    inputs = Inputs(
        task=task,
        data=data,
        split=split,
        text_column=text_column,
        pair_column=pair_column,
        label_column=label_column,
        encoding=encoding,
    )
    if export:
        check_export(export)
    target = open_target(
        run,
        predictor=options.predictor_choice(predictor, predictor_set),
        victim_options=victim_options,
        device=device,
        precision=precision,
    )
    if len(chosen) > 1:
        chosen = _within_reach(chosen, target, only_these=recipe != "all")
    reports = {}
    for name, settings in chosen.items():
        folder = _folder(target, out_, name, several=len(chosen) > 1)
        with attack_progress(name) as on_progress, recorded_command(_command(run, target.name)):
            reports[name] = run_attack(
                target,
                inputs,
                recipe={"name": name, **settings},
                limit=limit,
                limits=made_limits,
                tools=made_tools,
                seed=seed,
                device=device,
                in_flight=in_flight,
                out=folder,
                on_progress=on_progress,
            )
        if not json_:
            show_report(reports[name])
            show_changes(reports[name], show)
            err.print(f"Saved in {writable(folder)}", style="dim", soft_wrap=True)
    if export:
        outcomes = {name: report.outcomes for name, report in reports.items()}
        export_outcomes(export, outcomes, next(iter(reports.values())).labels)
    if json_:
        results = [report.to_dict() for report in reports.values()]
        print_json(results[0] if len(results) == 1 else {"attacks": results})
    elif len(reports) > 1:
        show_table(reports)
    if any(_all_broke(report.summary["counts"]) for report in reports.values()):
        raise typer.Exit(1)


def _recipes(wanted: str, settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The recipes with the settings of each; of several, a setting goes to all that have it."""
    from unfooled.attacks import RECIPES, make_recipe
    from unfooled.settings import describe_settings

    chosen = list(RECIPES) if wanted == "all" else [name.strip() for name in wanted.split(",")]
    known: dict[str, set[str]] = {}
    for name in chosen:
        known[name] = {info.name for info in describe_settings(RECIPES.choose(name))}
    for setting in settings:
        if not any(setting in names for names in known.values()):
            make_recipe(chosen[0], {setting: settings[setting]})  # refuses it, with the nearest name
    split = {
        name: {key: value for key, value in settings.items() if key in names} for name, names in known.items()
    }
    for name, values in split.items():
        make_recipe(name, values)
    return split


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _check_numbers(limit: int, in_flight: int, show: int) -> None:
    for name, value, least in (("limit", limit, 1), ("in-flight", in_flight, 1), ("show", show, 0)):
        if value < least:
            raise UsageError(f"--{name} must be at least {least}, got {value}.")


def _within_reach(
    chosen: dict[str, dict[str, Any]], target: Target, *, only_these: bool
) -> dict[str, dict[str, Any]]:
    """Without the recipes that need more of this victim than it shows; one that was asked for is refused."""
    from unfooled.attacks import make_recipe
    from unfooled.attacks.tools import check_access

    possible = {}
    for name, settings in chosen.items():
        try:
            check_access(target.victim, make_recipe(name))
        except UsageError as error:
            if only_these:
                raise
            err.print(f"Left out: {error}", style="dim", markup=False, soft_wrap=True)
        else:
            possible[name] = settings
    return possible


def _folder(target: Target, out: Path | None, recipe: str, *, several: bool) -> Path:
    from unfooled.api.attack import default_folder

    if out is not None:
        return out / recipe if several else out
    slug = re.sub(r"[^\w.-]+", "-", target.name).strip("-.")
    return default_folder(target, recipe) or Path("attacks") / slug / recipe


def _command(run: str, name: str) -> str:
    """The command as it was given, without what may be a password: in an address, headers, extra fields."""
    from unfooled.files import writable

    is_address = run.lower().startswith(("http://", "https://"))
    words: Sequence[str] = [name if is_address and word == run else word for word in sys.argv[1:]]
    secret = re.compile(r"^(--victim-set=)?(\s*(?:headers|extra)\s*=).*", re.DOTALL)
    return writable(shlex.join(["unfooled", *(secret.sub(r"\1\2…", word) for word in words)]))


def _all_broke(counts: Mapping[str, int]) -> bool:
    return counts["error"] + counts["refused"] == sum(counts.values())
