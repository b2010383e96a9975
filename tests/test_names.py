"""One name per concept: no two public types share a name, and no two files do without a convention."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "unfooled"

CONVENTIONS = {"__init__", "base", "registry"}
"""A room's front door, the base of its kinds, and the names of its kinds."""

PAIRS = {
    frozenset({"api", "cli"}): "a command has the name of its verb",
    frozenset({"benchmarks", "cli"}): "a command has the name of its verb",
}
"""Rooms whose files may share names, and why."""


def types_in(path: Path) -> set[str]:
    """Public classes, and aliases of types at the top of the file; the options of commands are not types."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    classes = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    given = [node.targets[0] for node in tree.body if isinstance(node, ast.Assign)]
    given += [node.target for node in tree.body if isinstance(node, ast.AnnAssign)]
    aliases = {node.id for node in given if isinstance(node, ast.Name) and not node.id.isupper()}
    if "cli" in path.parts:
        aliases = set()
    return {name for name in classes | aliases if name[0].isupper()}


def test_no_two_public_types_share_a_name() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for name in types_in(path):
            found[name].append(str(path.relative_to(PACKAGE)))
    assert len(found) > 150
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


def test_no_two_files_share_a_name_unless_it_is_a_convention() -> None:
    found: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        found[path.stem].append(path.relative_to(PACKAGE))
    shared = {
        name: [str(path) for path in paths]
        for name, paths in found.items()
        if len(paths) > 1
        and name not in CONVENTIONS
        and frozenset(path.parts[0] for path in paths) not in PAIRS
    }
    assert shared == {}
