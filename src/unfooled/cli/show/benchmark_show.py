"""A benchmark in the terminal: the presets, the cells as they are run, the figures at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from unfooled.cli.console import CleanConsole, err, out, print_json
from unfooled.files import JsonMapping

if TYPE_CHECKING:
    from rich.table import Table

    from unfooled.benchmarks.cells import Cell

_STYLES = {"done": "green", "failed": "red", "running": "yellow", "pending": "dim"}


def list_presets(as_json: bool) -> None:
    from unfooled.benchmarks.plan_file import presets

    found = presets()
    if as_json:
        return print_json({"presets": [{"name": n, "description": about} for n, about in found.items()]})
    for name, about in found.items():
        out.print(name, style="bold")
        out.print(f"  {about}", markup=False, soft_wrap=True)


class Announcer:
    """Where the benchmark stands, on stderr: a line before each cell, a bar within it, its end."""

    def cell(self, cell: Cell, records: Sequence[JsonMapping]) -> None:
        from unfooled.benchmarks.state import time_left

        number = [record["name"] for record in records].index(cell.name)
        record = records[number]
        if record["status"] == "running":
            seconds, whole = time_left(records)
            guess = f"{'about' if whole else 'more than'} {timedelta(seconds=round(seconds))} left"
            left = f"  {guess}" if seconds else ""
            err.print(
                f"({number + 1}/{len(records)}) {described(record)}{left}", markup=False, soft_wrap=True
            )
        elif record["status"] == "failed":
            err.print(f"failed: {record['message']}", style="red", markup=False, soft_wrap=True)
        else:
            err.print(f"{record['status']} in {record['seconds']:.0f} s", style="dim", markup=False)

    def watch(self, cell: Cell) -> AbstractContextManager[Callable[..., None]]:
        from unfooled.cli.show.attack_progress import attack_progress
        from unfooled.cli.show.certify_show import certify_progress

        if cell.kind == "attack":
            return attack_progress(str(cell.what))
        if cell.kind == "certify":
            return certify_progress(str(cell.what))
        if cell.kind == "repeat":
            return _repeats()
        return nullcontext(_ignore)  # training has its own bar


def described(record: JsonMapping) -> str:
    """``attack textfooler: movie-reviews, rsmi, seed 0``"""
    what = f" {record['what']}" if record["what"] else ""
    return f"{record['kind']}{what}: {record['task']}, {record['defence']}, seed {record['seed']}"


def show_cells(result: JsonMapping) -> None:
    """What a dry run found: every cell and its state."""
    from rich.table import Table

    table = Table("", "cell", "state", "note", box=None, pad_edge=False, header_style="bold")
    for number, record in enumerate(result["cells"], start=1):
        table.add_row(str(number), described(record), record["status"], _text(record["message"]))
    _wide(table)
    counts, scale = result["counts"], result["scale"]
    out.print(
        f"{result['name']}{'' if scale == 1 else f' at scale {scale:g}'}: {len(result['cells'])} cells, "
        f"{counts['done']} done. Nothing was run. Results go to {result['out']}.",
        markup=False,
        soft_wrap=True,
    )


def show_result(result: JsonMapping) -> None:
    """The figures of what is done, what failed, and where the page is."""
    from unfooled.cli.show.benchmark_tables import attack_table, certificate_table, repeat_table

    for table in (attack_table(result), certificate_table(result), repeat_table(result)):
        if table.row_count:
            _wide(table)
            out.print()
    if result["ranking"]:
        show_ranking(result["ranking"], several=len(result["seeds"]) > 1)
    if len(result["seeds"]) > 1:
        out.print("Over seeds: mean ± standard deviation (n − 1).", style="dim")
    published = result["published"]
    if published and any(
        figure["task"] == row["task"] for figure in published.get("figures", ()) for row in result["rows"]
    ):
        note = f"; {published['note']}" if published.get("note") else ""
        out.print(f"Published, not ours: {published['source']}{note}", markup=False, soft_wrap=True)
    if result["scale"] != 1:
        out.print(f"Sizes were scaled by {result['scale']:g}: a trial, not a result.", soft_wrap=True)
    left = [record for record in result["cells"] if record["status"] != "done"]
    for record in left:
        if record["message"]:
            line = f"{record['status']}: {record['name']}: {record['message']}"
            out.print(line, style=_STYLES[record["status"]], markup=False, soft_wrap=True)
    if silent := sum(not record["message"] for record in left):
        out.print(f"{silent} of {len(result['cells'])} cells have not begun.", soft_wrap=True)
    if result["report_problem"]:
        out.print(
            f"The report could not be written: {result['report_problem']}", markup=False, soft_wrap=True
        )
    if result["report"]:
        out.print(f"Report: {result['report']}", markup=False, soft_wrap=True)


def show_ranking(rows: Sequence[JsonMapping], *, several: bool) -> None:
    """The models of a grid, the best dev accuracy first."""
    from unfooled.cli.show.benchmark_tables import ranking_table

    _wide(ranking_table(rows, several=several))
    note = "Chosen on dev accuracy; test accuracy is reported only and played no part in the choice."
    out.print(note, soft_wrap=True)


def _wide(table: Table) -> None:
    """In a file or pipe nothing is cut to a terminal's width."""
    (out if out.is_terminal else CleanConsole(width=200)).print(table)


def _text(text: str) -> Any:
    from rich.text import Text

    return Text(text)


@contextmanager
def _repeats() -> Iterator[Callable[..., None]]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("repeats"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err) as bar:
        shown = bar.add_task("repeats", total=None)
        yield lambda done, total: bar.update(shown, completed=done, total=total)


def _ignore(*_: Any) -> None:
    """For cells without progress of their own."""
