"""The command that repeats one cell of a benchmark by hand."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from unfooled.benchmarks.cells import Cell
from unfooled.benchmarks.grid import shown
from unfooled.benchmarks.plan import AttackPlan, CertificatePlan, RepeatPlan, RepresentationsPlan

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
        words += [*_options(part.limits), *_options(part.tools), *seed]
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
        words = ["represent", run, *limit, *device]
    return shlex.join(["unfooled", *words])


def _options(values: Mapping[str, Any]) -> Iterator[str]:
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


def _assigned(option: str, values: Mapping[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        yield from (option, f"{name}={shown(value)}")
