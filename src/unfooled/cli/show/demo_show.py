"""The demo in the terminal: what each part found, in a sentence or two, and how to check a certificate."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unfooled.cli.console import out
from unfooled.cli.show.benchmark_show import Announcer
from unfooled.files import JsonMapping, read_json

if TYPE_CHECKING:
    from unfooled.benchmarks.cells import Cell
    from unfooled.benchmarks.demo import CertifiedText, DemoResult

ATTACKS = {"deepwordbug": "typos"}
"""What a recipe of the demo does to a text."""


class Story(Announcer):
    """The lines of a benchmark, and after each part what it found."""

    def __init__(self) -> None:
        self._page_shown = False

    def cell(self, cell: Cell, records: Sequence[JsonMapping]) -> None:
        from unfooled.benchmarks.run import REPORT

        super().cell(cell, records)
        if any(record["name"] == cell.name and record["status"] == "done" for record in records):
            for line in told(cell):
                _line(f"  {line}")
            if not self._page_shown:
                self._page_shown = True
                page = cell.run.parent.parent / REPORT
                _line(f"  The page so far: {page.resolve().as_uri()} (rewritten after every step: reload it)")


def told(cell: Cell) -> Iterator[str]:
    """What a finished part found."""
    from unfooled.records.shapes.benchmark_shapes import CellMetrics
    from unfooled.records.shapes.result_shapes import AttackShape, CertificatesShape

    if cell.kind == "train":
        test = read_json(cell.run / "metrics.json", CellMetrics)["test"]
        yield f"{cell.defence} is right on {_accuracy(test)}."
        yield from _answers(cell.run / "predictions.jsonl")
    elif cell.kind == "attack":
        yield _attacked(cell.defence, str(cell.what), read_json(cell.result, AttackShape)["summary"])
        yield from _broken(cell)
    elif cell.kind == "certify":
        yield from _certified(cell.defence, read_json(cell.result, CertificatesShape)["summary"])


def show_demo(result: DemoResult) -> None:
    """The whole story in short, the certificate to check, and what to try next."""
    out.print("\nIn short", style="bold")
    for summary in result.summaries:
        _line(f"  {_in_short(str(summary['defence']), summary, result)}.")
    plain, defended = str(result.runs[0]), str(result.runs[-1])
    if result.check is not None:
        _show_check(result.check, plain)
    out.print("\nTry next", style="bold")
    for command in (
        f'unfooled predict {defended} --certified "your own text"',
        f"unfooled attack {plain} --recipe textfooler --limit 100 --show 3",
        f'unfooled certify {defended} "your own text of forty words" --threat edits',
    ):
        _line(f"  {command}")
    out.print(f"\nOpen the page: [bold]{result.report.resolve().as_uri()}[/]", soft_wrap=True, markup=True)


def _show_check(check: CertifiedText, plain: str) -> None:
    out.print("\nCheck the certificate yourself", style="bold")
    words = "word" if check.edits == 1 else "words"
    _line(
        f"  The answer «{check.label}» to this test text is certified, whichever {check.edits} {words} you "
        "insert, delete or replace:"
    )
    _line(f"    {check.text}")
    _line(f"  Here {check.edits} {words} became others. Change the text as you like, and ask:")
    _line(f"    unfooled predict {check.run} --certified {_quoted(check.edited)}")
    _line("  The plain model promises nothing:")
    _line(f"    unfooled predict {plain} {_quoted(check.edited)}")


def _in_short(name: str, test: JsonMapping, result: DemoResult) -> str:
    said = [f"{name}: {100 * test['accuracy']:.1f} % right"]
    for recipe, found in result.attacks.get(name, {}).items():
        said.append(f"under {ATTACKS.get(recipe, recipe)} {_share(found['racc'])}")
        if "racc_verified" in found:
            said.append(f"re-verified {_share(found['racc_verified'])}")
    for point in result.certificates.get(name, {}).get("curve", ()):
        if int(point["radius"]) == 1:
            said.append(f"whichever word is inserted, deleted or replaced, provably {_share(point)}")
    return "; ".join(said)


def _attacked(name: str, recipe: str, found: JsonMapping) -> str:
    what = ATTACKS.get(recipe, recipe)
    line = f"Without {what} {name} is right on {_share(found['sacc'])}; under them ({recipe}) on "
    line += _share(found["racc"])
    if "racc_verified" in found:
        line += f", or {_share(found['racc_verified'])} if only successes count that hold on fresh noise"
    return f"{line}."


def _certified(name: str, found: JsonMapping) -> Iterator[str]:
    for point in found["curve"]:
        edits = int(point["radius"])
        if edits and point["value"]:
            words = "one word is" if edits == 1 else f"{edits} words are"
            yield (
                f"Proved: {name} stays right on {_share(point)} whichever {words} inserted, deleted or "
                "replaced, by anything."
            )


def _answers(path: Path) -> Iterator[str]:
    """The answers to the first two sentences: one and the same with typos."""
    if path.is_file():
        for line in path.read_text(encoding="utf-8").splitlines()[:2]:
            answer = json.loads(line)
            yield f"  {answer['label']!s:<14}{answer['text']}"


def _broken(cell: Cell) -> Iterator[str]:
    """The success with the fewest changes on a model that answers without noise."""
    from unfooled.api.jobs.attack_job import read_attack
    from unfooled.cli.show.attack_show import changes_text

    report = read_attack(cell.result.parent)
    found = [one for one in report.outcomes if one.status == "success" and one.changes]
    if found and not report.summary["randomised"]:
        fewest = min(found, key=lambda one: (len(one.changes), len(one.original[0])))
        yield from changes_text(fewest, report.labels, colour=False).plain.strip().splitlines()


def _accuracy(test: JsonMapping) -> str:
    low, high = test["accuracy_interval"]
    return (
        f"{100 * test['accuracy']:.1f} % of {test['examples']} test texts "
        f"(95 % interval {100 * low:.1f} to {100 * high:.1f} %)"
    )


def _share(rate: JsonMapping) -> str:
    """``8.8 % (4.3 to 17.0 %; 7 of 80)``"""
    if rate["value"] is None:
        return "no text"
    low, high = rate["interval"]
    return (
        f"{100 * rate['value']:.1f} % ({100 * low:.1f} to {100 * high:.1f} %; {rate['count']} of {rate['n']})"
    )


def _quoted(text: str) -> str:
    """In double quotes, which are easier to edit, where the shell takes the text as it is."""
    return shlex.quote(text) if any(mark in text for mark in '"$`\\!') else f'"{text}"'


def _line(text: str) -> None:
    out.print(text, soft_wrap=True, markup=False)
