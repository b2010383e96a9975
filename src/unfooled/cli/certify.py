"""``unfooled certify``: what a run provably keeps when its inputs are tampered with."""

from __future__ import annotations

from pathlib import Path

from unfooled.cli import attack_options, options
from unfooled.cli import certify_options as own
from unfooled.cli.console import JsonOption, command_line, err, print_json
from unfooled.errors import UsageError


def certify(
    run: options.Run,
    texts: own.Texts = None,
    threat: own.Threat = "l2",
    radius: own.Radius = None,
    n0: own.N0 = 100,
    n: own.N = 10_000,
    alpha: own.Alpha = 0.001,
    bound: own.Bound = None,
    adaptive: own.Adaptive = False,
    two_class: own.TwoClass = False,
    pair: own.Pair = None,
    task: attack_options.Task = None,
    data: attack_options.Data = None,
    text_column: options.TextColumn = None,
    pair_column: options.PairColumn = None,
    label_column: options.LabelColumn = None,
    encoding: attack_options.Encoding = "utf-8",
    split: attack_options.Split = "test",
    limit: own.Limit = 100,
    predictor: options.PredictorName = None,
    predictor_set: attack_options.PredictorSet = None,
    substitutes: own.Substitutes = None,
    antonyms: own.Antonyms = True,
    seed: own.Seed = 0,
    device: attack_options.Device = "auto",
    out_: own.Out = None,
    show: own.Show = 0,
    json_: JsonOption = False,
) -> None:
    """Certify inputs: the answer, the radius it provably keeps, or an abstention.

    Example: unfooled certify runs/noise --threat l2 --limit 100 --adaptive

    Interrupted? Run the same command again: finished inputs are kept.
    """
    from unfooled.api.certify import certify as run_certify
    from unfooled.certificates.procedure import Sampling
    from unfooled.certificates.word_reader import Reading
    from unfooled.cli.certify_show import certify_progress, show_certificate, show_report
    from unfooled.data.inputs import Inputs
    from unfooled.storage.provenance import recorded_command

    if show < 0:
        raise UsageError(f"--show must be at least 0, got {show}.")
    inputs = Inputs(
        task=task,
        data=data,
        split=split,
        text_column=text_column,
        pair_column=pair_column,
        label_column=label_column,
        encoding=encoding,
        texts=texts or None,
        pairs=pair or None,
    )
    with certify_progress(threat) as on_progress, recorded_command(command_line()):
        report = run_certify(
            run,
            inputs,
            threat=threat,
            limit=limit,
            sampling=Sampling(n0, n, alpha, adaptive, radius, two_class),
            bounds=[name.strip() for name in bound.split(",")] if bound else (),
            reading=Reading(substitutes, antonyms),
            predictor=options.predictor_choice(predictor, predictor_set),
            seed=None if seed < 0 else seed,
            device=device,
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
    folder = out_ or (None if texts else Path(run) / "certificates" / threat)
    if folder:
        err.print(f"Saved in {folder}", style="dim", soft_wrap=True)
