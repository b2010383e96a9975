"""The cells of a sweep: a grid of settings times seeds, every cell checked before anything is trained.

A name means a setting of the defence, else one of the training configuration; ``train.warmup`` means
the latter where both have the name.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

from unfooled.errors import UsageError, did_you_mean
from unfooled.storage.config import TrainConfig, make_config, read_config

_DATA = ("task", "data", "dev_data", "test_data", "text_column", "pair_column", "label_column", "labels")
_NOT_SWEPT = {*_DATA, "encoding", "limit_dev", "limit_test", "settings", "device"}


@dataclass(frozen=True)
class Cell:
    """One run of a sweep: what the grid sets, the whole configuration, and its folder."""

    values: dict[str, Any]
    config: TrainConfig
    folder: Path

    @property
    def finished(self) -> bool:
        return (self.folder / "unfooled.json").is_file()


def parse_grid(axes: Sequence[str]) -> dict[str, list[Any]]:
    """``["sigma=0.1,0.2", "noise_layers=[0,2],[3,4]"]`` as names and lists of values, read as YAML."""
    import yaml

    grid: dict[str, list[Any]] = {}
    for text in axes:
        name, _, values = (part.strip() for part in text.partition("="))
        if not name or not values:
            raise UsageError(f"--grid {text!r}: expected name=values, for example --grid sigma=0.1,0.2,0.4.")
        if name in grid:
            raise UsageError(f"--grid {name} is given twice. Put all its values after one {name}=.")
        try:
            grid[name] = yaml.safe_load(f"[{values}]")
        except yaml.YAMLError as error:
            raise UsageError(
                f"--grid {text!r}: the values cannot be read. Separate them with commas, lists in brackets: "
                "noise_layers=[0,2,4],[3,4,5]."
            ) from error
    return grid


def plan_cells(
    out: str | Path, grid: Mapping[str, Sequence[Any]], seeds: Sequence[int], base: Mapping[str, Any]
) -> list[Cell]:
    """All cells, checked; one seed after the other, so that a partial sweep has a whole table early."""
    if not seeds or len(set(seeds)) != len(seeds):
        raise UsageError("--seeds: give one or more different seeds, for example --seeds 0,1,2.")
    if not grid and len(seeds) < 2:
        raise UsageError("There is nothing to vary. Give --grid name=values, or several --seeds.")
    cells: dict[str, Cell] = {}
    for seed, chosen in product(seeds, product(*grid.values())):
        values, config = _checked(base, dict(zip(grid, chosen, strict=True)), seed)
        name = cell_name(values, seed)
        if name in cells:
            raise UsageError(f"--grid: {name} comes up twice. Name each value once.")
        cells[name] = Cell(values, config, Path(out) / name)
    if not cells:
        raise UsageError("--grid: a name without values. Give at least one value for each name.")
    return list(cells.values())


def cell_name(values: Mapping[str, Any], seed: int) -> str:
    """A folder name to read: ``sigma=0.2,masked_tokens=1,seed=0``."""
    name = ",".join(f"{key}={shown(value)}" for key, value in {**values, "seed": seed}.items())
    safe = re.sub(r"[^\w.+=,\[\]-]", "-", name, flags=re.ASCII)
    if safe == name and len(name) <= 150:
        return name
    return f"{safe[:120]}~{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def shown(value: Any) -> str:
    """A setting as one would type it."""
    if isinstance(value, list | tuple):
        return f"[{','.join(map(shown, value))}]"
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    return str(value)


def check_cells(cells: Sequence[Cell]) -> None:
    """Refuse what cannot be trained (folders taken, layers beyond the depth, M > N) before any training."""
    for cell in cells:
        changed = _differences(cell)
        if changed:
            raise UsageError(
                f"{cell.folder} holds a run with other settings ({', '.join(changed)}). Choose another "
                "--out, or delete that folder to train it again."
            )
    waiting = sorted(
        (cell for cell in cells if not cell.finished),
        key=lambda cell: (cell.config.encoder, cell.config.layers or 0),  # each encoder is loaded once
    )
    if not waiting:
        return
    from unfooled.api.train import load_data
    from unfooled.defences import make_defence
    from unfooled.hub.pretrained import location_of, open_model, open_tokenizer
    from unfooled.models import TextModel

    task = load_data(waiting[0].config).task
    loaded: dict[tuple[str, int | None], Any] = {}
    for cell in waiting:
        config, place = cell.config, (cell.config.encoder, cell.config.layers)
        if place not in loaded:
            location = location_of(config.encoder)
            changes = {"num_labels": len(task.labels)}
            changes |= {} if config.layers is None else {"num_hidden_layers": config.layers}
            model = open_model("AutoModelForSequenceClassification", location, **changes)
            loaded = {place: (model, open_tokenizer(location))}
        text = TextModel(*loaded[place], max_length=config.max_length or task.max_length)
        try:
            make_defence(config.defence, config.settings).resolved(text)
        except UsageError as error:
            raise UsageError(f"{cell.folder.name}: {error}") from error


def _checked(
    base: Mapping[str, Any], chosen: Mapping[str, Any], seed: int
) -> tuple[dict[str, Any], TrainConfig]:
    """The grid's values as they were understood, and the cell's configuration."""
    from unfooled.defences import make_defence

    defence = str(chosen.get("defence", base.get("defence", "standard")))
    own = {f.name for f in fields(make_defence(defence))}  # type: ignore[arg-type]
    trained = {f.name for f in fields(TrainConfig)}
    settings, values = dict(base.get("settings") or {}), {**base, "seed": seed}
    for name, value in chosen.items():
        bare = name.removeprefix("train.")
        if name in own:
            settings[name] = value
        elif bare == "seed":
            raise UsageError(
                "--grid seed: give seeds with --seeds 0,1,2; their mean and spread are reported."
            )
        elif bare in _NOT_SWEPT:
            raise UsageError(
                f"--grid {name}: all cells must be measured in the same way; {bare} cannot vary."
            )
        elif bare in trained:
            values[bare] = value
        else:
            known = sorted(own | trained - _NOT_SWEPT - {"seed"})
            raise UsageError(
                f"--grid {name}: neither defence '{defence}' nor the training configuration has this setting."
                f"{did_you_mean(name, known)} Settings: {', '.join(known)}."
            )
    config = make_config({**values, "settings": settings})
    built = make_defence(config.defence, config.settings)
    understood = {
        name: _plain(getattr(built, name) if name in own else getattr(config, name.removeprefix("train.")))
        for name in chosen
    }
    settings |= {name: value for name, value in understood.items() if name in own}
    return understood, replace(config, settings=settings)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _differences(cell: Cell) -> list[str]:
    """Names of the settings in which the run in the cell's folder is another one."""
    saved = cell.folder / "config.yaml"
    if not saved.is_file():
        return []
    before, now = read_config(saved), cell.config.to_dict()
    defaults = {f.name: f.default for f in fields(TrainConfig)}
    return sorted(name for name in now if before.get(name, defaults[name]) != now[name])
