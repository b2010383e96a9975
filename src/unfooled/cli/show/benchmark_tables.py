"""The figures of a benchmark as tables: attacks beside the published figures, certificates, repeats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from unfooled.files import JsonMapping

Line = tuple[str, list[str]]
"""The style of a line and its cells."""
_RATES = ("sacc", "racc", "racc_verified", "asr", "asr_verified")


def attack_table(result: JsonMapping) -> Table:
    """Clean accuracy and every attack, a row each; the interval below the figure where there is one seed."""
    heads = ("SAcc", "RAcc", "re-verified", "ASR", "re-verified", "AvgQ", "forwards", "inputs")
    lines: list[Line] = []
    for row in result["rows"]:
        if (clean := row["clean"]) is not None:
            figures = [clean["accuracy"], None, None, None, None]
            lines += _lines((row["task"], row["defence"], "none"), figures, None, clean)
            lines += _published(result, row["task"], {None}, {row["defence"]})
    for task in dict.fromkeys(row["task"] for row in result["rows"]):
        rows = [row for row in result["rows"] if row["task"] == task]
        for attack in dict.fromkeys(name for row in rows for name in row["attacks"]):
            found = {row["defence"]: row["attacks"][attack] for row in rows if attack in row["attacks"]}
            for defence, one in found.items():
                name = attack if one["goal"] == "fickle" else f"{attack} (obstinate)"
                lines += _lines((task, defence, name), [one[rate] for rate in _RATES], one["queries"], one)
            recipes = {one["recipe"] for one in found.values()}
            lines += _published(result, task, recipes, {row["defence"] for row in rows})
    return _table(("task", "model", "attack"), heads, lines)


def certificate_table(result: JsonMapping) -> Table:
    """Certified accuracy, abstentions, radius and cost of every certificate."""
    heads = ("certified accuracy", "radius reached", "abstained", "average radius", "draws", "inputs")
    lines: list[Line] = []
    for row in result["rows"]:
        for name, found in row["certificates"].items():
            figures = [found["certified_accuracy"], found["asked"], found["abstention"]]
            asked = "" if found["radius"] is None else f" ≥ {found['radius']:g}"
            radius = f"{_value(found['average_radius'], 3)} ({found['unit']})"
            cells = [*(_value(one, 3) for one in figures), radius, _value(found["samples"], 0)]
            lines.append(("", [row["task"], row["defence"], name + asked, *cells, str(found["inputs"])]))
            lines += _intervals(figures, after=3)
            lines += _certified_beside(row, name, found)
    return _table(("task", "model", "certificate"), heads, lines)


def _certified_beside(row: JsonMapping, name: str, found: JsonMapping) -> Iterator[Line]:
    """The paper's certified accuracies, each below ours at the same radius."""
    for one in found["beside"]:
        by = f" by {one['bound']}" if one["bound"] else ""
        at = f"{name} ≥ {one['radius']:g}{by}"
        yield "", [row["task"], row["defence"], at, _value(one["ours"], 3), *[""] * 5]
        theirs = [_share(one["published"]), *[""] * 5]
        yield "dim", [row["task"], f"published: {one['model']}", at, *theirs]


def repeat_table(result: JsonMapping) -> Table:
    """How far the accuracy of repeated evaluations varies; nothing of models that draw nothing."""
    heads = ("accuracy", "std over repeats", "ever changed", "repeats", "inputs")
    lines: list[Line] = []
    for row in result["rows"]:
        found = row["repeated"]
        if found is not None and found["random"]:
            figures = [_value(found[name], 4) for name in ("accuracy", "std", "changed_share")]
            sizes = [str(found["repeats"]), str(found["inputs"])]
            lines.append(("", [row["task"], row["defence"], *figures, *sizes]))
    return _table(("task", "model"), heads, lines)


def ranking_table(rows: Sequence[JsonMapping], *, several: bool) -> Table:
    """Dev and test accuracy of the models of a grid: over seeds, or with the interval of one."""
    from unfooled.benchmarks.grid import shown

    names = list(dict.fromkeys(name for row in rows for name in row["settings"]))
    view = Table(box=None, pad_edge=False, header_style="bold")
    view.add_column("", min_width=4, no_wrap=True)
    for name in names:
        view.add_column(name, overflow="fold")
    test = ["test±std", "max", "min"] if several else ["test (95 %)"]
    for name in ["dev±std" if several else "dev (95 %)", *test, "forwards", "seconds"]:
        view.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        cells = [shown(row["settings"][name]) if name in row["settings"] else "" for name in names]
        if "dev" not in row:
            view.add_row("", *cells, row["status"], style="dim")
            continue
        ends = [f"{row['test'][name]:.3f}" for name in ("max", "min")] if several else []
        costs = [f"{row['forwards_per_example']:.1f}", f"{row['train_seconds']:.0f}"]
        mark = "best" if row["best"] else "" if row["status"] == "finished" else "part"
        style = "green" if row["best"] else ""
        view.add_row(mark, *cells, _ranked(row, "dev"), _ranked(row, "test"), *ends, *costs, style=style)
    return view


def _ranked(row: JsonMapping, split: str) -> str:
    """``0.812±0.004`` over seeds, or ``0.812 (0.79–0.83)`` for one."""
    number, interval = row[split], row[f"{split}_interval"]
    if interval is not None:
        return f"{number['mean']:.3f} ({interval[0]:.2f}–{interval[1]:.2f})"
    return f"{number['mean']:.3f}±{number['std']:.3f}"


def _table(names: Sequence[str], numbers: Sequence[str], lines: Sequence[Line]) -> Table:
    """The lines as a table, without columns in which nothing stands."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    heads = [*names, *numbers]
    kept = [place for place in range(len(heads)) if any(cells[place] for _, cells in lines)]
    for place in kept:
        text = place < len(names)
        table.add_column(heads[place], justify="left" if text else "right", overflow="fold")
    for style, cells in lines:
        table.add_row(*(Text(cells[place]) for place in kept), style=style)
    return table


def _lines(names: tuple[str, ...], figures: Sequence[Any], queries: Any, costs: JsonMapping) -> list[Line]:
    """A row of rates and costs, and its intervals."""
    cells = [*(_value(figure, 3) for figure in figures), _value(queries, 0)]
    first = [*names, *cells, _value(costs["forwards"], 1), str(costs["inputs"])]
    return [("", first), *_intervals(figures, after=3)]


def _intervals(figures: Sequence[Any], *, after: int) -> list[Line]:
    found = [_interval(figure) for figure in figures]
    return [("dim", ["", "", "", *found, *[""] * after])] if any(found) else []


def _published(
    result: JsonMapping, task: str, recipes: set[str | None], defences: set[str]
) -> Iterator[Line]:
    """The paper's figures for this task and attack (None: without one), in our unit."""
    for figure in (result["published"] or {}).get("figures", ()):
        if figure.get("certificate") is not None:
            continue  # stands beside the certificates
        if figure["task"] == task and figure.get("attack") in recipes and figure.get("defence") in defences:
            sacc, racc, asr = (_share(figure.get(name)) for name in ("sacc", "racc", "asr"))
            queries = "" if figure.get("avgq") is None else f"{figure['avgq']:.0f}"
            names = [task, f"published: {figure['model']}", figure.get("attack") or "none"]
            yield "dim", [*names, sacc, racc, "", asr, "", queries, "", ""]


def _value(figure: JsonMapping | None, digits: int) -> str:
    if figure is None:
        return ""
    std = "" if figure["std"] is None else f"±{figure['std']:.{digits}f}"
    return f"{figure['mean']:.{digits}f}{std}"


def _interval(figure: JsonMapping | None) -> str:
    interval = None if figure is None else figure["interval"]
    return "" if interval is None else f"{interval[0]:.3f}–{interval[1]:.3f}"


def _share(percent: float | None) -> str:
    return "" if percent is None else f"{percent / 100:.3f}"
