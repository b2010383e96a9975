"""The tables of the report as Markdown, CSV, JSON and LaTeX (booktabs)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

from unfooled.reports.formatting import visible
from unfooled.reports.tables import Table, TableCell
from unfooled.untrusted import csv_text

SUFFIXES = {"html": ".html", "md": ".md", "csv": ".csv", "json": ".json", "latex": ".tex"}
"""How a file of each format is called."""


def write_tables(tables: Sequence[Table], format: str, *, title: str, sentences: Sequence[str] = ()) -> str:
    """All tables in one of the formats but html, below the verdict in sentences where there is a place."""
    writers: dict[str, Callable[[Sequence[Table], str, Sequence[str]], str]] = {
        "md": _markdown,
        "csv": _csv,
        "json": _json,
        "latex": _latex,
    }
    return writers[format](tables, title, sentences)


def _markdown(tables: Sequence[Table], title: str, sentences: Sequence[str]) -> str:
    def escaped(text: str) -> str:
        text = re.sub(r"([\\`*_{}\[\]<>#|~&])", r"\\\1", visible(text))
        return text.replace("\n", " ")

    parts = [f"# {escaped(title)}", *map(escaped, sentences)]
    for table in tables:
        lines = [
            "| " + " | ".join(escaped(column.title) for column in table.columns) + " |",
            "| " + " | ".join("---:" if column.numeric else "---" for column in table.columns) + " |",
        ]
        lines += ["| " + " | ".join(escaped(_both(cell)) for cell in row) + " |" for row in table.rows]
        parts += [f"## {escaped(table.name)}", escaped(table.caption), "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def _csv(tables: Sequence[Table], title: str, sentences: Sequence[str]) -> str:
    """One line a number, so that tables with different columns fit into one file."""
    header = ["table", "row", "name", "column", "value", "low", "high", "n", "note"]
    lines = (
        (table.name, number, row[0].text, column.title, cell.value, cell.low, cell.high, cell.n, cell.note)
        for table in tables
        for number, row in enumerate(table.rows, start=1)
        for column, cell in list(zip(table.columns, row, strict=True))[1:]
        if cell.value is not None
    )
    return visible(csv_text(header, lines))


def _json(tables: Sequence[Table], title: str, sentences: Sequence[str]) -> str:
    found = {
        "title": title,
        "verdict": list(sentences),
        "tables": [
            {
                "name": table.name,
                "caption": table.caption,
                "columns": [
                    {"title": column.title, "numeric": column.numeric, "meaning": column.meaning}
                    for column in table.columns
                ],
                "rows": [[_values(cell) for cell in row] for row in table.rows],
            }
            for table in tables
        ],
    }
    return visible(json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False)) + "\n"


def _values(cell: TableCell) -> dict[str, float | str | None]:
    known = {"low": cell.low, "high": cell.high, "n": cell.n, "note": cell.note or None}
    return {"value": cell.value, "text": cell.text} | {k: v for k, v in known.items() if v is not None}


_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "ℓ": r"$\ell$",
    "∞": r"$\infty$",
    "≥": r"$\geq$",
    "–": "--",
    "·": r"$\cdot$",
    "\N{NO-BREAK SPACE}": "~",
    "\n": " ",
}


def escaped_latex(text: str) -> str:
    """Text in which LaTeX sees no command."""
    return "".join(_LATEX.get(character, character) for character in visible(text))


def _latex(tables: Sequence[Table], title: str, sentences: Sequence[str]) -> str:
    said = "\n".join(f"% {visible(one)}".replace("\n", " ") for one in (title, *sentences))
    parts = [said, r"% \usepackage{booktabs}"]
    for table in tables:
        columns = "".join("r" if column.numeric else "l" for column in table.columns)
        rows = [" & ".join(escaped_latex(_both(cell)) for cell in row) + r" \\" for row in table.rows]
        parts.append(
            "\n".join(
                [
                    r"\begin{table}",
                    r"\centering",
                    rf"\caption{{{escaped_latex(table.caption)}}}",
                    rf"\label{{tab:{re.sub('[^a-z0-9-]', '', table.name)}}}",
                    rf"\begin{{tabular}}{{{columns}}}",
                    r"\toprule",
                    " & ".join(escaped_latex(column.title) for column in table.columns) + r" \\",
                    r"\midrule",
                    *rows,
                    r"\bottomrule",
                    r"\end{tabular}",
                    r"\end{table}",
                ]
            )
        )
    return "\n\n".join(parts) + "\n"


def _both(cell: TableCell) -> str:
    return f"{cell.text} ({cell.note})" if cell.note else cell.text
