"""``unfooled certify``: what a run, or any other victim, provably keeps when its inputs are tampered with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unfooled.certificates.sampling import Reading, Sampling
from unfooled.cli.console import JsonOption, command_line, err, leave_if_refused, print_json, show_kept
from unfooled.cli.options import attack_options
from unfooled.cli.options import certify_options as own
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
from unfooled.data.tensors import read_tensors
from unfooled.errors import UsageError
from unfooled.settings import LARGEST_SECRET_SEED, check_whole

if TYPE_CHECKING:
    from unfooled.api.target import Target


@takes(sampling=Sampling, reading=Reading, inputs=options.INPUTS)
def certify(
    run: own.Model,
    texts: own.Texts = None,
    threat: own.Threat = None,
    *,
    tensors: own.Tensors = None,
    sigma: own.Sigma = None,
    sampling: dict[str, Any],
    bound: own.Bound = None,
    pair: own.Pair = None,
    question: options.QuestionAsked = None,
    context: options.QuestionContext = None,
    inputs: dict[str, Any],
    limit: own.Limit = 100,
    predictor: options.PredictorName = None,
    predictor_set: attack_options.PredictorSet = None,
    reading: dict[str, Any],
    victim_set: VictimSet = None,
    labels: Labels = None,
    max_queries: own.MaxQueries = None,
    seed: own.Seed = 0,
    device: attack_options.Device = "auto",
    workers: options.Workers = None,
    ray: options.Ray = None,
    out_: own.Out = None,
    name: options.Name = None,
    show: own.Show = 0,
    dry_run: options.DryRun = False,
    json_: JsonOption = False,
) -> None:
    """Certify inputs: the answer, the radius it provably keeps, or an abstention.

    Example: unfooled certify runs/noise --threat l2 --limit 100 --adaptive

    Any victim: unfooled certify sklearn:spam.skops --threat edits --task spam --predictor-set rates=[0.9]

    A run on questions: unfooled certify runs/qa --question "Who won?" --context "The Broncos won."

    For images and other tensors: unfooled certify python:net.py:build --tensors images.npz --sigma 0.25

    Interrupted? Run the same command again: finished inputs are kept. Exits with code 1 if an input was
    refused; the others are certified.
    """
    from unfooled.api.certify import certify as run_certify
    from unfooled.cli.show.certify_show import certify_progress, show_certificate, show_report
    from unfooled.storage.provenance import recorded_command

    check_whole("--show", show, at_least=0)
    if question or context:
        if texts or pair:
            raise UsageError("Give --question and --context, or texts, not both.")
        texts, pair = options.questions_with_contexts(question or [], context or [])
    rows, truth = read_tensors(tensors) if tensors else (None, None)
    which = Inputs(**inputs, texts=texts or None, pairs=pair or None, tensors=rows, labels=truth)
    settings = victim_options(victim_set, labels)
    what, command = _opened(run, settings, tensors=tensors is not None, device=device)
    how: dict[str, Any] = {
        "threat": threat,
        "sigma": sigma,
        "limit": limit,
        "sampling": Sampling(**sampling),
        "bounds": [one.strip() for one in bound.split(",")] if bound else (),
        "reading": Reading(**reading),
        "predictor": options.predictor_choice(predictor, predictor_set),
        "seed": options.seed_or_secret(seed, at_most=LARGEST_SECRET_SEED),
        "device": device,
        "max_queries": max_queries,
        "workers": workers,
        "ray": ray,
        "out": options.kept_in(out_, name),
    }
    if dry_run:
        return show_estimates(run_certify, (what, which), {threat or "certificates": how}, json_)
    with certify_progress(threat or "certificates") as progress, recorded_command(command):
        report = run_certify(what, which, progress=progress, **how)
    for note in report.notes:
        err.print(f"Note: {note}", style="yellow", markup=False, soft_wrap=True)
    if json_:
        print_json({**report.to_dict(), "certificates": [one.to_dict() for one in report]})
        return leave_if_refused(report.summary["counts"]["refused"], len(report))
    for number in range(len(report) if texts else min(show, len(report))):
        show_certificate(report[number])
    if not texts:
        show_report(report)
    show_kept(report.about)
    leave_if_refused(report.summary["counts"]["refused"], len(report))


def _opened(run: str, settings: dict[str, object], *, tensors: bool, device: str) -> tuple[str | Target, str]:
    """A run or a model of tensors by its name, any other victim opened; and the command to record."""
    from unfooled.api.target import open_target

    if tensors or Path(run).is_dir() or ":" not in run or run.startswith("python:"):
        if settings:
            raise UsageError(
                f"{', '.join(settings)}: victim options are for functions, models and endpoints; a run "
                "has none."
            )
        return run, command_line()
    target = open_target(run, victim_options=settings, device=device)
    target = replace(target, results=victim_folder("certificates", target.name))
    return target, command_without_secrets(run, target.name)
