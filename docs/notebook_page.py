"""The notebook of the examples: executed, kept with its outputs, and shown on a page of the site.

    python docs/notebook_page.py run     # executes examples/first_hour.ipynb and keeps its outputs
    python docs/notebook_page.py page    # writes docs/notebook.md from it; `run` does that too

The folder in which it ran is shown as FOLDER: nobody else has it.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat

ROOT = Path(__file__).parents[1]
NOTEBOOK = ROOT / "examples" / "first_hour.ipynb"
PAGE = ROOT / "docs" / "notebook.md"
FOLDER = "~/first-hour"
SECONDS = 900
HEAD = "<!-- Written by docs/notebook_page.py from examples/first_hour.ipynb. -->"


def executed(notebook: Any, folder: Path) -> Any:
    """The notebook after all its cells ran in ``folder``."""
    from nbclient import NotebookClient

    NotebookClient(notebook, timeout=SECONDS, resources={"metadata": {"path": str(folder)}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times of this machine
        for output in cell.get("outputs", ()):
            _clean(output, folder)
        if "outputs" in cell:
            cell.outputs = [
                one for one in cell.outputs if one.output_type != "stream" or one.name != "stderr"
            ]
    return notebook


def _clean(output: Any, folder: Path) -> None:
    """Outputs without the name of the folder, and without what only a running notebook shows."""
    if output.output_type == "stream":
        output.text = output.text.replace(str(folder), FOLDER)
    for kind, value in list(output.get("data", {}).items()):
        output.data[kind] = value.replace(str(folder), FOLDER) if isinstance(value, str) else value
    output.get("metadata", {}).clear()
    output.pop("transient", None)


def page(notebook: Any) -> str:
    """The notebook as Markdown: code in fences, tables and bars as the HTML they are."""
    parts = [HEAD]
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        parts += [shown for output in cell.outputs if (shown := _shown(output))]
    return "\n\n".join(parts) + "\n"


def _shown(output: Any) -> str:
    if output.output_type == "stream":
        return f"```\n{output.text.rstrip()}\n```"
    html = output.get("data", {}).get("text/html", "")
    if html:
        html = re.sub(r"<style scoped>.*?</style>", "", html, flags=re.DOTALL)
        html = html.replace('<table border="1" class="dataframe">', "<table>")
        lines = [line.strip() for line in html.splitlines() if line.strip()]
        return '<div class="output">\n' + "\n".join(lines) + "\n</div>"
    text = output.get("data", {}).get("text/plain", "")
    return f"```\n{text}\n```" if text else ""


def main() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    if "run" in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            notebook = executed(notebook, Path(folder))
        nbformat.write(notebook, NOTEBOOK)
    PAGE.write_text(page(notebook), encoding="utf-8")


if __name__ == "__main__":
    main()
