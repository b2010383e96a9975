"""One cell of a benchmark, run by the function behind its command; each goes on where it stopped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from unfooled.benchmarks.cell_commands import command_of
from unfooled.benchmarks.cells import Cell
from unfooled.benchmarks.plan import AttackPlan, CertificatePlan, RepresentationsPlan, StabilityPlan
from unfooled.certificates.procedure import Sampling
from unfooled.errors import UserError
from unfooled.storage.config import read_config

Tell = Callable[..., None]
_SAMPLING = ("n0", "n", "alpha", "adaptive", "radius", "two_class")


def run_cell(cell: Cell, tell: Tell, *, afresh: bool = False) -> None:
    """Do the work of ``cell``; ``tell`` gets its progress; ``afresh`` replaces a failed training."""
    if cell.kind == "train":
        return _train(cell, afresh=afresh)
    {"attack": _attack, "certify": _certify, "stability": _stability, "representations": _represent}[
        cell.kind
    ](cell, tell)


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

    part = cell.part
    assert isinstance(part, AttackPlan)
    report = attack(
        cell.run,
        limit=part.limit,
        recipe=part.recipe,
        settings=part.settings,
        limits=part.limits,
        tools=part.tools,
        on_progress=tell,
        **_common(cell, predictor_settings=True),
    )
    counts: Mapping[str, int] = report.summary["counts"]
    if counts["error"] and counts["error"] + counts["refused"] == sum(counts.values()):
        first = next(one.message for one in report.outcomes if one.status == "error")
        raise UserError(f"The attack broke on every input. The first: {first}")


def _certify(cell: Cell, tell: Tell) -> None:
    from unfooled.api.certify import certify

    part = cell.part
    assert isinstance(part, CertificatePlan)
    values = {key: value for key, value in asdict(part).items() if key not in ("name", "only", "predictor")}
    certify(cell.run, **values, on_progress=tell, **_common(cell))


def _stability(cell: Cell, tell: Tell) -> None:
    from unfooled.api.repeat import stability

    part = cell.part
    assert isinstance(part, StabilityPlan)
    options = _common(cell)
    del options["command"]
    stability(cell.run, repeats=part.repeats, limit=part.limit, on_repeat=tell, **options)


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
        command=command_of(cell),
    )


def _common(cell: Cell, *, predictor_settings: bool = False) -> dict[str, Any]:
    """What attacks, certificates and repeats share."""
    return {
        "predictor": cell.predictor.get("name"),
        "predictor_settings" if predictor_settings else "settings": cell.predictor_settings,
        "seed": cell.seed,
        "device": cell.config.device,
        "out": cell.result.parent,
        "command": command_of(cell),
    }
