"""``unfooled attack``: one or more published attacks on a run, or on any other classifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unfooled.attacks import Limits
from unfooled.attacks.tools import Tools
from unfooled.cli.console import JsonOption, err, leave_if_refused, print_json, show_kept
from unfooled.cli.options import attack_options as own
from unfooled.cli.options import common_options as options
from unfooled.cli.options.declared import takes
from unfooled.cli.options.victim_options import (
    Labels,
    VictimSet,
    command_without_secrets,
    victim_folder,
    victim_options,
)
from unfooled.cli.show.estimates import show_estimates
from unfooled.data.inputs import Inputs
from unfooled.errors import UsageError
from unfooled.settings import MOST_AT_ONCE, check_seed, check_whole

if TYPE_CHECKING:
    from unfooled.api.target import Target


@takes(inputs=options.INPUTS, limits=Limits, tools=Tools)
def attack(
    run: own.Victim = None,
    recipe: own.Recipe = None,
    set_: own.RecipeSettings = None,
    *,
    inputs: dict[str, Any],
    sizes: own.Sizes = None,
    limit: own.Limit = 200,
    limits: dict[str, object],
    tools: dict[str, object],
    predictor: options.PredictorName = None,
    predictor_set: own.PredictorSet = None,
    victim_set: VictimSet = None,
    labels: Labels = None,
    seed: own.Seed = 0,
    in_flight: own.InFlight = 128,
    workers: options.Workers = None,
    ray: options.Ray = None,
    device: own.Device = "auto",
    precision: own.Precision = "float32",
    out_: own.Out = None,
    name_: options.Name = None,
    show: own.Show = 0,
    export: own.Export = None,
    dry_run: options.DryRun = False,
    list_: own.List = False,
    json_: JsonOption = False,
) -> None:
    """Attack a classifier and report how it stands up: accuracy before and after, success rate, cost.

    Example: unfooled attack runs/rsmi --recipe textfooler --limit 200 --show 3
    Images: unfooled attack runs/digits --recipe pgd-linf --sizes 0.02,0.05,0.1
    Questions: unfooled attack runs/qa --recipe addsent,textfooler

    Interrupted? Run the same command again: finished examples are kept. Exits with code 1 if an input was
    refused or ended in an error; the others are attacked.
    """
    from unfooled.cli.show.attack_progress import attack_progress
    from unfooled.cli.show.attack_show import list_recipes, show_changes, show_report, show_table

    if list_:
        return list_recipes(json_)
    if run is None:
        raise UsageError("Name what to attack: the folder of a run, or hf:NAME, module:function, https://….")
    from unfooled.cli.attack_kinds import default_recipe, kind_of_run
    from unfooled.cli.image_attacks import parse_sizes
    from unfooled.settings import build, parse_assignments

    wanted = [name.strip() for one in recipe or [default_recipe(run)] for name in one.split(",")]
    chosen = _recipes(wanted, parse_assignments(set_ or []), kind=kind_of_run(run))
    wanted_sizes = parse_sizes(sizes)
    check_whole("--limit", limit)
    check_whole("--in-flight", in_flight, at_most=MOST_AT_ONCE)
    check_whole("--show", show, at_least=0)
    check_seed(seed)

    from unfooled.api.attack import attack as run_attack
    from unfooled.api.target import open_target
    from unfooled.records.export import check_export, export_outcomes
    from unfooled.storage.provenance import recorded_command

    # Wrong options are told before anything is loaded.
    made_limits = build(Limits, limits, owner="limits")
    made_tools = build(Tools, tools, owner="attack")
    which = Inputs(**inputs)
    if export:
        check_export(export)
    target = open_target(
        run,
        predictor=options.predictor_choice(predictor, predictor_set),
        victim_options=victim_options(victim_set, labels),
        device=device,
        precision=precision,
    )
    target = _keeping(target)
    if len(chosen) > 1:
        chosen = _within_reach(chosen, target, which, only_these="all" not in wanted)
    how: dict[str, Any] = {
        "sizes": wanted_sizes,
        "limit": limit,
        "limits": made_limits,
        "tools": made_tools,
        "seed": seed,
    }
    how |= {"device": device, "in_flight": in_flight, "workers": workers, "ray": ray}

    def kept(name: str) -> dict[str, Any]:
        """Where the results of a recipe are kept; of several, each has its own place."""
        if len(chosen) == 1:
            return {"out": options.kept_in(out_, name_)}
        return {"out": options.kept_in(out_ and out_ / name, name_ and f"{name_}-{name}")}

    if dry_run:
        calls = [{"recipe": {"name": name, **own}, **how, **kept(name)} for name, own in chosen.items()]
        return show_estimates(run_attack, (target, which), dict(zip(chosen, calls, strict=True)), json_)
    reports = {}
    command = command_without_secrets(run, target.name)
    for name, settings in chosen.items():
        with attack_progress(name) as progress, recorded_command(command):
            reports[name] = run_attack(
                target, which, recipe={"name": name, **settings}, progress=progress, **how, **kept(name)
            )
        if not json_:
            show_report(reports[name])
            show_changes(reports[name], show)
            show_kept(reports[name].about)
    if export:
        outcomes = {name: report.outcomes for name, report in reports.items()}
        export_outcomes(export, outcomes, next(iter(reports.values())).labels)
    if json_:
        results = [report.to_dict() for report in reports.values()]
        print_json(results[0] if len(results) == 1 else {"attacks": results})
    elif len(reports) > 1:
        show_table(reports)
    counts = [report.summary["counts"] for report in reports.values()]
    leave_if_refused(
        sum(one["refused"] + one["error"] for one in counts), sum(sum(one.values()) for one in counts)
    )


def _recipes(
    wanted: Sequence[str], settings: Mapping[str, object], *, kind: str
) -> dict[str, dict[str, object]]:
    """The recipes with the settings of each; of several, a setting goes to all that have it."""
    from unfooled.attacks import any_recipe, recipe_class
    from unfooled.attacks.registry import recipes_for
    from unfooled.settings import describe_settings

    chosen = recipes_for(kind) if "all" in wanted else list(dict.fromkeys(wanted))
    known: dict[str, set[str]] = {}
    for name in chosen:
        known[name] = {info.name for info in describe_settings(recipe_class(name))}
    for setting in settings:
        if not any(setting in names for names in known.values()):
            any_recipe(chosen[0], {setting: settings[setting]})  # refuses it, with the nearest name
    split = {
        name: {key: value for key, value in settings.items() if key in names} for name, names in known.items()
    }
    for name, values in split.items():
        any_recipe(name, values)
    return split


def _within_reach(
    chosen: dict[str, dict[str, object]], target: Target, inputs: Inputs, *, only_these: bool
) -> dict[str, dict[str, object]]:
    """Without the recipes that do not fit this victim or its task; one that was asked for is refused."""
    from unfooled.cli.attack_kinds import check_reach

    possible = {}
    for name, settings in chosen.items():
        try:
            check_reach(target, inputs, name, settings)
        except UsageError as error:
            if only_these:
                raise
            err.print(f"Left out: {error}", style="dim", markup=False, soft_wrap=True)
        else:
            possible[name] = settings
    return possible


def _keeping(target: Target) -> Target:
    """A victim that is no run has its result sets in the current folder: attacks/VICTIM."""
    return target if target.results else replace(target, results=victim_folder("attacks", target.name))
