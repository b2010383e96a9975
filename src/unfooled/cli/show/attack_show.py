"""Attacks in the terminal: the list of recipes, the numbers, and what was changed, word by word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from unfooled.cli.console import err, out, print_json, print_settings, rate
from unfooled.files import JsonMapping
from unfooled.untrusted import printable

if TYPE_CHECKING:
    from rich.text import Text

    from unfooled.records.outcome import Outcome
    from unfooled.records.results.attack_report import AttackReport
    from unfooled.words.document import Change

NOTHING = {"n": 0}
CONTEXT = 60
"""Characters of unchanged text shown on each side of a change."""


def list_recipes(as_json: bool) -> None:
    from unfooled.attacks.registry import all_recipes, reads
    from unfooled.settings import describe_settings

    if as_json:
        return print_json(
            {
                "recipes": [
                    {
                        "name": name,
                        "paper": cls.paper,
                        "goal": cls.goal,
                        "needs": list(cls.needs),
                        "reads": reads(cls),
                        "settings": [vars(info) for info in describe_settings(cls)],
                    }
                    for name, cls in all_recipes()
                ]
            }
        )
    for name, cls in all_recipes():
        access = {"image": "images, ", "question": "questions, "}.get(reads(cls), "")
        access += cls.goal + (", white box" if "gradients" in cls.needs else "")
        out.print(f"[bold]{name}[/]  ({access})  {cls.paper}", soft_wrap=True, markup=True)
        print_settings(cls)


def show_report(report: AttackReport) -> None:
    """The numbers of one attack."""
    from unfooled.cli.image_attacks import curve_lines
    from unfooled.cli.show.question_show import score_lines
    from unfooled.records.row_check import row_notes
    from unfooled.records.summaries.attack_summary import cut_short, untried

    summary, about = report.summary, report.about
    counts = summary["counts"]
    obstinate = summary["goal"] == "obstinate"
    _line(
        f"{about['recipe']['name']} on {about['victim']['name']}: {summary['examples']} inputs of "
        f"{about['source']}, {summary['attacked']} attacked, seed {about['seed']}"
    )
    if "right" in summary:
        _line(f"right answers: {summary['right']}")
    names = {
        "sacc": "SAcc  correct without attack",
        "racc": "RAcc  reacted to the change of meaning" if obstinate else "RAcc  correct under attack",
        "racc_verified": "RAcc  re-verified on fresh noise",
        "asr": "ASR   answer unchanged" if obstinate else "ASR   attack succeeded",
        "asr_verified": "ASR   re-verified on fresh noise",
    }
    for key, name in names.items():
        if key in summary:
            _line(f"{name:<40}{rate(summary[key])}")
    for line in score_lines(summary):
        _line(line)
    for key, name, digits in (
        ("queries", "AvgQ  queries per attacked input", 1),
        ("gradients", "gradient calls per attacked input", 1),
        ("forwards", "forward passes per attacked input", 1),
        ("distance", "distance of a success", 4),
        ("changed_words", "words changed in a success", 2),
        ("changed_share", "share of words changed", 3),
        ("similarity", "sentence similarity of successes", 3),
    ):
        if summary.get(key, NOTHING)["n"]:
            _line(f"{name:<40}{mean(summary[key], digits)}")
    for line in curve_lines(summary):
        _line(line)
    if summary["pos_valid"]["n"]:
        _line(f"{'part of speech kept in every change':<40}{rate(summary['pos_valid'])}")
    if summary["attacked"]:
        _line(f"{'seconds per attacked input':<40}{mean(summary['seconds'], 2)}")
    aside = {
        "skipped": "wrong without attack",
        "not-attackable": "with nothing to change (left out of RAcc and ASR)",
        "refused": "refused",
        "error": "ended in an error",
    }
    said = [f"{counts[status]} {words}" for status, words in aside.items() if counts[status]]
    if said:
        _line(f"of the others: {'; '.join(said)}")
    for said_of in (cut_short, untried):
        if words := said_of(summary):
            _line(words)
    for note in row_notes(about):
        err.print(f"Note: {note}", style="yellow", markup=False, soft_wrap=True)
    for status in ("refused", "error"):
        first = next((one for one in report.outcomes if one.status == status), None)
        if first is not None:
            err.print(f"{status}, row {first.row}: {first.message}", markup=False, soft_wrap=True)


def show_table(reports: Mapping[str, AttackReport]) -> None:
    """Several attacks on the same victim, one row each with its intervals below; numbers are never cut."""
    randomised = any(report.summary["randomised"] for report in reports.values())
    rates = {"sacc": "SAcc", "racc": "RAcc", "asr": "ASR"}
    if randomised:
        rates |= {"racc_verified": "RAcc re-ver.", "asr_verified": "ASR re-ver."}
    means = {"queries": ("AvgQ", 1), "forwards": ("forwards", 1), "changed_share": ("changed", 3)}
    means |= {"similarity": ("similar", 3)}
    if any("norm" in report.summary for report in reports.values()):
        means = {"queries": ("AvgQ", 1), "forwards": ("forwards", 1), "distance": ("distance", 4)}
    rows = [["recipe", "attacked", *rates.values(), *(name for name, _ in means.values())]]
    for name, report in reports.items():
        summary = report.summary
        goal = " (obstinate)" if summary["goal"] == "obstinate" else ""
        values = [summary[key]["value"] for key in means]
        digits = [digit for _, digit in means.values()]
        rows.append(
            [
                name + goal,
                str(summary["attacked"]),
                *(_value(summary[key]["value"], 3) for key in rates),
                *(_value(value, digit) for value, digit in zip(values, digits, strict=True)),
            ]
        )
        rows.append(["", "", *(_interval(summary[key]["interval"]) for key in rates), *[""] * len(means)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    out.print()
    for first, *others in rows:
        cells = [f"{cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True)]
        _line("  ".join([f"{first:<{widths[0]}}", *cells]).rstrip())


def show_changes(report: AttackReport, count: int) -> None:
    """The first successes: what stood there and what stands there now."""
    successes = [one for one in report.outcomes if one.status == "success"][:count]
    for outcome in successes:
        out.print(changes_text(outcome, report.labels, colour=_colour()), soft_wrap=True)


def changes_text(outcome: Outcome, labels: tuple[str, ...], *, colour: bool) -> Text:
    """One success as text; without colour changes are marked ``[-old-]{+new+}``."""
    from rich.text import Text

    from unfooled.cli.image_attacks import moved_text
    from unfooled.cli.show.question_show import question_text

    if outcome.question:
        return question_text(outcome, colour=colour)
    before, after = (
        labels[number] if number is not None and number < len(labels) else str(number)
        for number in (outcome.first_label, outcome.label)
    )
    facts = f"row {outcome.row}: {before} → {after}"
    facts += "" if outcome.image else f", {len(outcome.changes)} of {outcome.words} words"
    facts += confirmed_text(outcome)
    shown = Text.assemble(("\n" + facts, "bold"), "\n")
    if outcome.image:
        return shown.append(moved_text(outcome))
    for which, text in enumerate(outcome.original):
        if which:
            shown.append(" ⟷ ", style="dim")
        append_changed(shown, text, [one for one in outcome.changes if one.which == which], colour=colour)
    return shown


def confirmed_text(outcome: Outcome) -> str:
    """In how many fresh predictions of a randomised victim a success holds."""
    if outcome.fresh_successes is None:
        return ""
    return f", holds in {outcome.fresh_successes} of {outcome.fresh_total} fresh predictions"


def append_changed(shown: Text, text: str, changes: Sequence[Change], *, colour: bool) -> None:
    """A text with its changed words, what stood there and what stands there now."""
    position = 0
    for change in sorted(changes, key=lambda one: one.start):
        shown.append(_shortened(text[position : change.start], first=position == 0))
        if colour:
            shown.append(printable(change.before), style="red strike")
            shown.append(" ").append(printable(change.after), style="green")
        else:
            shown.append(f"[-{printable(change.before)}-]{{+{printable(change.after)}+}}")
        position = change.end
    shown.append(_shortened(text[position:], first=position == 0, last=True))


def mean(value: JsonMapping, digits: int) -> str:
    shown = f"{value['value']:.{digits}f}"
    if value["interval"] is None:
        return f"{shown}  (1 input)"
    low, high = value["interval"]
    return f"{shown}  (95 % interval {low:.{digits}f} to {high:.{digits}f}; {value['n']} inputs)"


def _value(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _interval(interval: list[float] | None) -> str:
    return "" if interval is None else f"{interval[0]:.3f}–{interval[1]:.3f}"


def _shortened(text: str, *, first: bool = False, last: bool = False) -> str:
    """Unchanged text between two changes, its middle left out if it is long."""
    text = printable(text)
    left, right = 0 if first and not last else CONTEXT, 0 if last and not first else CONTEXT
    if len(text) <= left + right + 3:
        return text
    return f"{text[:left]} … {text[len(text) - right :] if right else ''}"


def _colour() -> bool:
    return out.is_terminal and not out.no_color


def _line(text: str) -> None:
    out.print(text, soft_wrap=True, markup=False)
