"""`make test-fast` covers every room: each has tests that no marker leaves out."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = sorted(file.parent.name for file in (ROOT / "src/unfooled").glob("*/__init__.py"))


def left_out() -> set[str]:
    """The markers that `make test-fast` excludes."""
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").split("test-fast: venv")[1]
    (expression,) = re.findall(r'-m "(.*?)"', recipe.split("\n\n")[0])
    found = set(re.findall(r"not (\w+)", expression))
    assert expression == " and ".join(f"not {name}" for name in re.findall(r"not (\w+)", expression))
    return found


def markers(node: ast.AST) -> set[str]:
    """The names in `pytest.mark.NAME` anywhere in a piece of code."""
    return set(re.findall(r"pytest\.mark\.(\w+)", ast.unparse(node)))


def fast_tests(file: Path) -> list[str]:
    """The test functions of a file that neither their own markers nor the file's leave out."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    of_file = {
        name
        for node in tree.body
        if isinstance(node, ast.Assign) and "pytestmark" in [ast.unparse(target) for target in node.targets]
        for name in markers(node)
    }
    return [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        # A marker on one parameter leaves out that case only.
        if not (of_file | set().union(*(markers(d) for d in node.decorator_list if not parametrises(d))))
        & left_out()
    ]


def parametrises(decorator: ast.expr) -> bool:
    return ast.unparse(decorator).startswith("pytest.mark.parametrize")


def test_markers_that_leave_tests_out_are_known() -> None:
    assert left_out() == {"slow", "full", "network", "browser", "ray"}


@pytest.mark.parametrize("room", ROOMS)
def test_room_has_fast_tests(room: str) -> None:
    files = sorted((ROOT / "tests" / room).glob("test_*.py"))
    assert files, f"tests/{room} has no tests"
    found = [name for file in files for name in fast_tests(file)]
    assert len(found) >= 3, f"`make test-fast` runs only {found} of tests/{room}"
