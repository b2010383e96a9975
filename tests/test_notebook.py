"""The notebook of the examples: executed, small, and the same as its page in the docs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
nbformat = pytest.importorskip("nbformat")
sys.path.insert(0, str(ROOT / "docs"))
import notebook_page as converter  # noqa: E402

SHORTER = {
    '"limit": 600, "limit_dev": 60, "limit_test": 150': '"limit": 40, "limit_dev": 8, "limit_test": 8',
    '"layers": 2': '"layers": 1',
    '"epochs": 2': '"epochs": 1',
    '"votes": 20': '"votes": 5',
    "limit=30": "limit=3",
    "limit=10": "limit=2",
    "n=300": "n=50",
}


def test_page_is_what_the_notebook_shows_with_all_its_outputs() -> None:
    found = nbformat.read(converter.NOTEBOOK, as_version=4)
    nbformat.validate(found)
    assert converter.PAGE.read_text(encoding="utf-8") == converter.page(found), (
        "run docs/notebook_page.py page"
    )
    code = [cell for cell in found.cells if cell.cell_type == "code"]
    assert len(code) >= 6 and all(cell.outputs for cell in code)
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1)), "executed in order"
    shown = converter.NOTEBOOK.read_text(encoding="utf-8")
    assert len(shown) < 300_000 and "<progress" in shown and "/tmp/" not in shown


@pytest.mark.full
@pytest.mark.network
def test_every_cell_runs(tmp_path: Path) -> None:
    pytest.importorskip("ipykernel")
    found = nbformat.read(converter.NOTEBOOK, as_version=4)
    for cell in found.cells:  # cut short: what is tested is that it runs
        for long, short in SHORTER.items():
            cell.source = cell.source.replace(long, short)
    sources = "".join(cell.source for cell in found.cells)
    assert all(short in sources for short in SHORTER.values())
    done = converter.executed(found, tmp_path)
    assert not [one for cell in done.cells for one in cell.get("outputs", ()) if one.output_type == "error"]
    assert (tmp_path / "report.html").stat().st_size > 100_000
    assert len(list(tmp_path.glob("runs/*/attacks/deepwordbug/attack.json"))) == 2
