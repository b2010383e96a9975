"""One name per concept: no two public classes share a name, and no two files do without a convention."""

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

TEXT_KIND = ("models/", "predictors/smoothing/", "attacks/text/", "certificates/token_ids.py", "api/load.py")
"""Where the model of texts may be named: its home, what smooths and changes words, what reads token ids, and
``wrap``, which takes a Hugging Face model. All else is written to the Model protocol, or asks ``as_text``."""


def test_no_two_public_classes_share_a_name() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(str(path.relative_to(PACKAGE)))
    assert len(found) > 100
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


def test_only_what_works_on_words_names_the_model_of_texts() -> None:
    naming = [
        str(path.relative_to(PACKAGE))
        for path in sorted(PACKAGE.rglob("*.py"))
        if any(
            isinstance(node, ast.ImportFrom) and any(alias.name == "TextModel" for alias in node.names)
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        )
    ]
    assert len(naming) > 3
    assert [name for name in naming if not name.startswith(TEXT_KIND)] == []
