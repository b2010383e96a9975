"""One cell of a benchmark, run by the function behind its command; each goes on where it stopped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from unfooled.benchmarks.cell_commands import command_of
from unfooled.benchmarks.cells import Cell
from unfooled.benchmarks.plan import AttackPlan, CertificatePlan, RepeatPlan, RepresentationsPlan
from unfooled.certificates.sampling import Sampling
from unfooled.errors import UserError
from unfooled.settings import build
from unfooled.storage.config import read_config
from unfooled.storage.provenance import recorded_command

Tell = Callable[..., None]
_SAMPLING = ("n0", "n", "alpha", "adaptive", "radius", "two_class")


def run_cell(cell: Cell, tell: Tell, *, afresh: bool = False) -> None:
    """Do the work of ``cell``; ``tell`` gets its progress; ``afresh`` replaces a failed training."""
    if cell.kind == "train":
        return _train(cell, afresh=afresh)
    verbs = {"attack": _attack, "certify": _certify, "repeat": _repeat, "representations": _represent}
    with recorded_command(command_of(cell)):
        verbs[cell.kind](cell, tell)


def sampling_of(part: CertificatePlan) -> Sampling:
    return Sampling(**{name: getattr(part, name) for name in _SAMPLING})


def _train(cell: Cell, *, afresh: bool) -> None:
    from unfooled.api.train import train

    values = cell.config.to_dict()
    saved = cell.run / "config.yaml"
    if saved.is_file() and cell.needs:
        before = str(read_config(saved).get("encoder"))
        if Path(before).resolve() == Path(values["encoder"]).resolve():
            values["encoder"] = before  # the same folder, spelled as when the training began
    train(cell.run, overwrite=afresh and saved.is_file(), **values)


def _attack(cell: Cell, tell: Tell) -> None:
    from unfooled.api.attack import attack
    from unfooled.attacks import Limits, make_recipe
    from unfooled.attacks.tools import Tools

    part = cell.part
    assert isinstance(part, AttackPlan)
    report = attack(
        cell.run,
        limit=part.limit,
        recipe=make_recipe(part.recipe, part.settings),
        limits=build(Limits, part.limits, owner="limits"),
        tools=build(Tools, part.tools, owner="tools"),
        on_progress=tell,
        **_common(cell),
    )
    counts: Mapping[str, int] = report.summary["counts"]
    if counts["error"] and counts["error"] + counts["refused"] == sum(counts.values()):
        first = next(one.message for one in report.outcomes if one.status == "error")
        raise UserError(f"The attack broke on every input. The first: {first}")


def _certify(cell: Cell, tell: Tell) -> None:
    from unfooled.api.certify import certify
    from unfooled.certificates.sampling import Reading

    part = cell.part
    assert isinstance(part, CertificatePlan)
    certify(
        cell.run,
        threat=part.threat,
        limit=part.limit,
        sampling=sampling_of(part),
        bounds=part.bounds,
        reading=Reading(part.substitutes, part.antonyms),
        on_progress=tell,
        **_common(cell),
    )


def _repeat(cell: Cell, tell: Tell) -> None:
    from unfooled.api.repeat import repeat

    part = cell.part
    assert isinstance(part, RepeatPlan)
    repeat(cell.run, repeats=part.repeats, limit=part.limit, on_progress=tell, **_common(cell))


def _represent(cell: Cell, tell: Tell) -> None:
    from unfooled.api.represent import represent

    part = cell.part
    assert isinstance(part, RepresentationsPlan)
    represent(
        cell.run,
        attacks=[cell.run / "attacks" / name for name in cell.conditions["attacks"]],
        limit=part.limit,
        device=cell.config.device,
        out=cell.result,
    )


def _common(cell: Cell) -> dict[str, Any]:
    """What attacks, certificates and repeats share."""
    return {
        "predictor": cell.predictor,
        "seed": cell.seed,
        "device": cell.config.device,
        "out": cell.result.parent,
    }
