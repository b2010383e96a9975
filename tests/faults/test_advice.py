"""No message advises to delete results, journals, checkpoints or folders."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import unfooled

PACKAGE = Path(unfooled.__file__).parent
ROWS = "data"
"""The room whose messages are about rows of the user's table, which may have to go."""


def messages(path: Path) -> list[str]:
    """The texts of everything that a file raises or gives as a remedy."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    calls = [
        node for node in ast.walk(tree) if isinstance(node, ast.Call) and "Error" in ast.unparse(node.func)
    ]
    remedies = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and any("remedy" in ast.unparse(one).lower() for one in node.targets)
    ]
    return [
        text.value
        for node in (*found, *calls, *remedies)
        for text in ast.walk(node)
        if isinstance(text, ast.Constant) and isinstance(text.value, str)
    ]


def test_no_message_advises_to_delete_anything_but_rows() -> None:
    told = [
        (path.relative_to(PACKAGE), text)
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0] != ROWS
        for text in messages(path)
    ]
    assert len(told) > 500
    advice = re.compile(r"(?<!-)\b(delete|remove|erase|unlink|rm)\b", re.IGNORECASE)
    assert not [one for one in told if advice.search(one[1])]
