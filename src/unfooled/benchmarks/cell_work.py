"""One cell of a benchmark, run by the function behind its command; each goes on where it stopped.

``command_of`` is the command that repeats a cell by hand.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from unfooled.benchmarks.cells import Cell
from unfooled.benchmarks.grid import shown
from unfooled.benchmarks.plan import AttackPlan, CertificatePlan, RepeatPlan, RepresentationsPlan
from unfooled.certificates.sampling import Reading, Sampling
from unfooled.data.inputs import Inputs
from unfooled.errors import UserError
from unfooled.files import read_yaml
from unfooled.settings import build
from unfooled.storage.provenance import recorded_command

Tell = Callable[..., None]


def run_cell(cell: Cell, tell: Tell, share: Mapping[str, object], *, afresh: bool = False) -> None:
    """Do the work of ``cell``.

    ``tell`` gets its progress, ``share`` says who shares its inputs (``workers`` and ``ray``), ``afresh``
    replaces a failed training.
    """
    if cell.kind == "train":
        return _train(cell, share, afresh=afresh)
    with recorded_command(command_of(cell)):
        if cell.kind == "representations":
            return _represent(cell)
        verbs = {"attack": _attack, "certify": _certify, "repeat": _repeat}
        verbs[cell.kind](cell, {**_common(cell), "progress": tell, **share})


def _train(cell: Cell, share: Mapping[str, Any], *, afresh: bool) -> None:
    from unfooled.api.train import train_as
    from unfooled.defences import make_defence, preparations

    config = cell.config
    saved = cell.run / "config.yaml"
    if saved.is_file() and cell.needs:
        before = str(read_yaml(saved).get("encoder"))
        if Path(before).resolve() == Path(str(config.encoder)).resolve():
            config = replace(config, encoder=before)  # the same folder, spelled as when the training began
    attacks = preparations(make_defence(config.defence, config.settings))
    train_as(config, cell.run, overwrite=afresh and saved.is_file(), **(share if attacks else {}))


def _attack(cell: Cell, how: Mapping[str, Any]) -> None:
    from unfooled.api.attack import attack
    from unfooled.api.target import open_target
    from unfooled.attacks import Limits, any_recipe
    from unfooled.attacks.tools import Tools

    part = cell.part
    assert isinstance(part, AttackPlan)
    device = cell.config.device
    report = attack(
        open_target(cell.run, predictor=cell.predictor, device=device, precision=part.precision),
        build(Inputs, part.inputs, owner="inputs") if part.inputs else None,
        limit=part.limit,
        recipe=any_recipe(part.recipe, part.settings),
        sizes=part.sizes,
        limits=build(Limits, part.limits, owner="limits"),
        tools=build(Tools, part.tools, owner="tools"),
        **how,
    )
    counts: Mapping[str, int] = report.summary["counts"]
    if counts["error"] and counts["error"] + counts["refused"] == sum(counts.values()):
        first = next(one.message for one in report.outcomes if one.status == "error")
        raise UserError(f"The attack broke on every input. The first: {first}")


def _certify(cell: Cell, how: Mapping[str, Any]) -> None:
    from unfooled.api.certify import certify

    part = cell.part
    assert isinstance(part, CertificatePlan)
    certify(
        cell.run,
        threat=part.threat,
        limit=part.limit,
        sampling=part.part(Sampling),
        bounds=part.bounds,
        reading=part.part(Reading),
        **how,
    )


def _repeat(cell: Cell, how: Mapping[str, Any]) -> None:
    from unfooled.api.repeat import repeat

    part = cell.part
    assert isinstance(part, RepeatPlan)
    repeat(cell.run, repeats=part.repeats, limit=part.limit, **how)


def _represent(cell: Cell) -> None:
    from unfooled.api.represent import represent

    part = cell.part
    assert isinstance(part, RepresentationsPlan)
    represent(
        cell.run,
        attacks=[cell.run / "attacks" / name for name in cell.conditions["attacks"]],
        limit=part.limit,
        device=cell.config.device,
        out=cell.result.parent,
    )


def _common(cell: Cell) -> dict[str, object]:
    """What attacks, certificates and repeats share."""
    return {
        "predictor": cell.predictor,
        "seed": cell.seed,
        "device": cell.config.device,
        "out": cell.result.parent,
    }


ALL = 1_000_000_000


def command_of(cell: Cell) -> str:
    """``unfooled attack … --out …``, and so on; a training is told by its configuration file."""
    part, run = cell.part, str(cell.run)
    if part is None:
        return shlex.join(["unfooled", "train", "--config", f"{run}/config.yaml", "--out", run])
    limit = ["--limit", str(ALL if part.limit is None else part.limit)]
    device = [] if cell.config.device == "auto" else ["--device", cell.config.device]
    seed = ["--seed", str(cell.seed), *device]
    where = ["--out", str(cell.result.parent)]
    name = cell.predictor.get("name")
    chosen = ["--predictor", str(name)] if name else []
    settings = cell.predictor_settings
    if isinstance(part, AttackPlan):
        words = ["attack", run, "--recipe", part.recipe, *_assigned("--set", part.settings), *limit]
        words += ["--sizes", ",".join(f"{size:g}" for size in part.sizes)] if part.sizes else []
        words += [*_options(part.inputs), *_options(part.limits), *_options(part.tools), *seed]
        words += [] if part.precision == "float32" else ["--precision", part.precision]
        words += [*chosen, *_assigned("--predictor-set", settings), *where]
    elif isinstance(part, CertificatePlan):
        words = ["certify", run, "--threat", part.threat, *limit, "--n0", str(part.n0), "--n", str(part.n)]
        words += ["--alpha", f"{part.alpha:g}", *_options({"radius": part.radius})]
        words += [*_options({"adaptive": part.adaptive or None, "two_class": part.two_class or None})]
        words += [*_options({"bound": ",".join(part.bounds) or None, "substitutes": part.substitutes})]
        words += [] if part.antonyms else ["--no-antonyms"]
        words += [*seed, *chosen, *_assigned("--predictor-set", settings), *where]
    elif isinstance(part, RepeatPlan):
        words = ["repeat", run, "--repeats", str(part.repeats), *limit, *seed]
        words += [*chosen, *_assigned("--set", settings), *where]
    else:
        assert isinstance(part, RepresentationsPlan)
        attacks = [f"--attack={cell.run / 'attacks' / name}" for name in cell.conditions["attacks"]]
        words = ["represent", run, *attacks, *limit, *device, *where]
    return shlex.join(["unfooled", *words])


def _options(values: Mapping[str, object]) -> Iterator[str]:
    for name, value in values.items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            if value or name == "validity":
                yield option if value else "--no-validity"
        elif isinstance(value, list | tuple):
            for item in value:
                yield from (option, str(item))
        elif value is not None:
            yield from (option, shown(value))


def _assigned(option: str, values: Mapping[str, object]) -> Iterator[str]:
    for name, value in values.items():
        yield from (option, f"{name}={shown(value)}")
