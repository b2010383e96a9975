"""How every result shows itself: a few lines in a terminal, a table in a notebook, a frame for pandas.

A result says its headline, its facts (the numbers with intervals and on how many inputs) and its rows (one
per input). What came from outside is escaped in HTML.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from unfooled.files import JsonMapping, JsonObject
from unfooled.untrusted import printable

if TYPE_CHECKING:
    import pandas

Facts = list[tuple[str, str]]
SHOWN_ROWS = 10
LONGEST, WIDEST = 80, 300


class Result(ABC):
    """Base of all results; a subclass gives ``headline``, ``facts`` and ``rows``."""

    @abstractmethod
    def headline(self) -> str:
        """What was measured, on what, on how many inputs."""

    @abstractmethod
    def facts(self) -> Facts:
        """(name, value) of each number that matters, as text."""

    @abstractmethod
    def rows(self) -> Iterable[Mapping[str, object]]:
        """One mapping of column to value per input."""

    def preview(self) -> Sequence[Mapping[str, str]]:
        """Rows that are worth seeing at once, as text; all have the same columns."""
        return []

    def to_frame(self) -> pandas.DataFrame:
        """A pandas DataFrame with one row per input."""
        import pandas

        return pandas.DataFrame(list(self.rows()))

    def __repr__(self) -> str:
        facts = self.facts()
        width = max((len(name) for name, _ in facts), default=0)
        lines = [self.headline(), *(f"  {name:<{width}}  {value}" for name, value in facts)]
        lines = [one_line(line, WIDEST) for line in lines]  # a name may hold a terminal's control characters
        shown = self.preview()
        lines += [f"  {'  '.join(one_line(cell) for cell in row.values())}" for row in shown]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        facts = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th>"
            f"<td style='text-align:left'>{escape(value)}</td></tr>"
            for name, value in self.facts()
        )
        parts = [f"<p><b>{escape(self.headline())}</b></p>"]
        if facts:
            parts.append(f"<table>{facts}</table>")
        if shown := self.preview():
            head = "".join(f"<th style='text-align:left'>{escape(name)}</th>" for name in shown[0])
            body = "".join(f"<tr>{_html_cells(row.values())}</tr>" for row in shown)
            parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
        return "".join(parts)


def _html_cells(cells: Iterable[str]) -> str:
    return "".join(f"<td style='text-align:left'>{escape(one_line(cell))}</td>" for cell in cells)


def share_text(rate: JsonMapping) -> str:
    """A rate with its interval and what it stands on: ``62.8 % (55.6 to 69.4), 115 of 183``."""
    if rate["value"] is None:
        return "nothing to count"
    text = f"{100 * rate['value']:.1f} %"
    if rate.get("interval"):
        low, high = rate["interval"]
        text += f" ({100 * low:.1f} to {100 * high:.1f})"
    return f"{text}, {rate['count']:,} of {rate['n']:,}" if "count" in rate else text


def mean_text(mean: JsonMapping, digits: int = 1) -> str:
    """A mean with its interval and its number of inputs: ``112.3 (100.1 to 124.5), mean of 183``."""
    if mean["value"] is None:
        return "nothing to count"
    text = f"{mean['value']:,.{digits}f}"
    if mean.get("interval"):
        low, high = mean["interval"]
        text += f" ({low:,.{digits}f} to {high:,.{digits}f})"
    return f"{text}, mean of {mean['n']:,}"


def reuse(reused: int, done: int) -> JsonObject:
    """What a result says about where its records come from."""
    return {"from_journal": reused, "asked": done - reused}


def reuse_text(about: JsonMapping) -> str:
    """``8 of 8 from the journal, nothing asked``; empty if all was asked now."""
    found = about.get("reuse") or {"from_journal": 0}
    if not found["from_journal"]:
        return ""
    held, asked = found["from_journal"], found["asked"]
    return (
        f"{held:,} of {held + asked:,} from the journal, {f'{asked:,} asked' if asked else 'nothing asked'}"
    )


def kept_facts(about: JsonMapping) -> Facts:
    """Which result set holds the result, and what of it was there before."""
    kept = about.get("result_set")
    facts = [("result set", kept["name"])] if kept else []
    return facts + ([("reused", text)] if (text := reuse_text(about)) else [])


def one_line(text: str, longest: int = LONGEST) -> str:
    """The text on one line without control characters, cut if it is long."""
    clean = printable(text)
    return clean if len(clean) <= longest else clean[: longest - 1] + "…"
