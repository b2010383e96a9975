"""``unfooled certify``: what a run, or any other victim, provably keeps when its inputs are tampered with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from unfooled.certificates.sampling import Reading, Sampling
from unfooled.cli import attack_options, options
from unfooled.cli import certify_options as own
from unfooled.cli.console import JsonOption, command_line, err, print_json
from unfooled.cli.declared import takes
from unfooled.cli.victim_options import (
    Labels,
    VictimSet,
    command_without_secrets,
    victim_folder,
    victim_options,
)
from unfooled.data.inputs import Inputs
from unfooled.data.tensors import read_tensors
from unfooled.errors import UsageError

if TYPE_CHECKING:
    from unfooled.api.target import Target


@takes(sampling=Sampling, reading=Reading, inputs=options.INPUTS)
def certify(
    run: own.Model,
    texts: own.Texts = None,
    threat: own.Threat = "l2",
    *,
    tensors: own.Tensors = None,
    sigma: own.Sigma = None,
    sampling: dict[str, Any],
    bound: own.Bound = None,
    pair: own.Pair = None,
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
    show: own.Show = 0,
    json_: JsonOption = False,
) -> None:
    """Certify inputs: the answer, the radius it provably keeps, or an abstention.

    Example: unfooled certify runs/noise --threat l2 --limit 100 --adaptive

    Any victim: unfooled certify sklearn:spam.skops --threat edits --task spam --predictor-set rates=[0.9]

    For images and other tensors: unfooled certify python:net.py:build --tensors images.npz --sigma 0.25

    Interrupted? Run the same command again: finished inputs are kept.
    """
    from unfooled.api.certify import certify as run_certify
    from unfooled.api.target import Target
    from unfooled.cli.certify_show import certify_progress, show_certificate, show_report
    from unfooled.storage.provenance import recorded_command

    if show < 0:
        raise UsageError(f"--show must be at least 0, got {show}.")
    rows, truth = read_tensors(tensors) if tensors else (None, None)
    which = Inputs(**inputs, texts=texts or None, pairs=pair or None, tensors=rows, labels=truth)
    settings = victim_options(victim_set, labels)
    what, command = _opened(run, settings, tensors=tensors is not None, device=device)
    if isinstance(what, Target) and out_ is None and not texts:
        out_ = victim_folder("certificates", what.name, threat)
    with certify_progress(threat) as on_progress, recorded_command(command):
        report = run_certify(
            what,
            which,
            threat=threat,
            sigma=sigma,
            limit=limit,
            sampling=Sampling(**sampling),
            bounds=[name.strip() for name in bound.split(",")] if bound else (),
            reading=Reading(**reading),
            predictor=options.predictor_choice(predictor, predictor_set),
            seed=None if seed < 0 else seed,
            device=device,
            max_queries=max_queries,
            workers=workers,
            ray=ray,
            out=out_,
            on_progress=on_progress,
        )
    for note in report.notes:
        err.print(f"Note: {note}", style="yellow", markup=False, soft_wrap=True)
    if json_:
        print_json({**report.to_dict(), "certificates": [one.to_dict() for one in report]})
        return
    for number in range(len(report) if texts else min(show, len(report))):
        show_certificate(report[number])
    if not texts:
        show_report(report)
    folder = out_ or (None if texts or tensors else Path(run) / "certificates" / threat)
    if folder:
        err.print(f"Saved in {folder}", style="dim", soft_wrap=True)


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
    return target, command_without_secrets(run, target.name)
