"""Data flows one way: each room imports only the rooms that docs/architecture.md lets it use."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "unfooled"
COMMON = {"errors", "settings", ""}  # "" is the package itself (its version)
MAY_USE = {
    "statistics": set(),
    "words": set(),
    "records": {"statistics", "words"},
    "assets": set(),
    "hub": {"assets"},
    "lexicon": {"assets", "hub", "words"},
    "data": {"assets", "records", "statistics"},
    "models": {"hub", "records"},
    "predictors": {"hub", "lexicon", "models", "records", "statistics", "words"},
    "attacks": {"assets", "hub", "lexicon", "models", "predictors", "records", "words"},
    "certificates": {"hub", "lexicon", "models", "predictors", "records", "statistics", "words"},
    "defences": {"attacks", "hub", "lexicon", "models", "predictors", "words"},
    "storage": {"hub", "records"},
    "training": {"data", "defences", "hub", "models", "predictors", "records", "statistics", "storage"},
    "reports": {"records", "statistics", "words"},
}
MAY_USE["api"] = set(MAY_USE)
MAY_USE["benchmarks"] = set(MAY_USE)
MAY_USE["cli"] = set(MAY_USE)


def rooms() -> list[str]:
    return sorted(folder.name for folder in PACKAGE.iterdir() if (folder / "__init__.py").exists())


def imported_rooms(path: Path) -> set[str]:
    """The rooms of unfooled that a file imports, inside functions too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "unfooled":
                room = parts[1] if len(parts) > 1 else ""
                known = (PACKAGE / room).is_dir() or (PACKAGE / f"{room}.py").exists()
                found.add(room if known else "")
    return found


@pytest.mark.parametrize("room", rooms())
def test_room_imports_only_what_it_may_use(room: str) -> None:
    allowed = MAY_USE[room] | COMMON | {room}
    for path in sorted((PACKAGE / room).rglob("*.py")):
        too_much = imported_rooms(path) - allowed
        assert not too_much, f"{path.relative_to(PACKAGE)} imports {sorted(too_much)}"


@pytest.mark.parametrize(
    "module",
    [
        "unfooled",
        "unfooled.assets",
        "unfooled.data",
        "unfooled.cli",
        "unfooled.records",
        "unfooled.statistics",
        "unfooled.reports",
        "unfooled.textattack",
    ],
)
def test_import_does_not_load_torch_or_other_heavy_libraries(module: str) -> None:
    heavy = ["torch", "transformers", "datasets", "pandas"]
    code = f"import sys, {module}; print([m for m in {heavy} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
