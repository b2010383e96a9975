"""``unfooled represent``: how far attacks move a run's hidden states."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from unfooled.cli.console import JsonOption, command_line, out, print_json, show_kept
from unfooled.cli.options import common_options as options


def represent(
    run: options.Run,
    attack: Annotated[
        list[Path] | None,
        typer.Option(
            help="Folder of an attack (default: all of RUN/attacks). Repeatable.", show_default=False
        ),
    ] = None,
    limit: Annotated[int, typer.Option(help="Successes of each attack to compare.")] = 100,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, mps.")] = "auto",
    out_: Annotated[
        Path | None,
        typer.Option("--out", help="Folder for representations.json (default: RUN/representations/NAME)."),
    ] = None,
    name: options.Name = None,
    json_: JsonOption = False,
) -> None:
    """Compare the hidden states of attacked inputs with those of the clean ones, layer by layer.

    Example: unfooled attack runs/plain --recipe textfooler, then: unfooled represent runs/plain
    """
    from unfooled.api.represent import represent as measure
    from unfooled.storage.provenance import recorded_command

    with recorded_command(command_line()):
        report = measure(
            run, attacks=attack or None, limit=limit, device=device, out=options.kept_in(out_, name)
        ).to_dict()
    if json_:
        print_json(report)
    else:
        _show(report)
        show_kept(report)


def _show(report: dict[str, Any]) -> None:
    from rich.table import Table

    for one in report["drift"]:
        on = " (texts made for other weights)" if one["transfer"] else ""
        out.print(
            f"\n{one['attack']}{on}: the {report['state']}, clean and attacked (successes: {one['inputs']})",
            markup=False,
            soft_wrap=True,
        )
        table = Table(box=None, padding=(0, 2))
        table.add_column("layer")
        for name in ("ℓ2 distance", "cosine"):
            table.add_column(name, justify="right")
            table.add_column("95 % interval", style="dim")
        for number, layer in enumerate(report["layers"]):
            cells = []
            for measure in ("l2", "cosine"):
                cells.append(f"{one[measure][number]:.3f}")
                intervals = one[f"{measure}_interval"]
                cells.append("{:.3f} to {:.3f}".format(*intervals[number]) if intervals else "")
            table.add_row(layer, *cells)
        out.print(table)
    for name in report["without_successes"]:
        out.print(f"{name}: no success, nothing to compare", markup=False, soft_wrap=True)
