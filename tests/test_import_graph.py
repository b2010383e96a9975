"""Data flows one way: each room imports only the rooms that docs/floor-plan.toml lets it use."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "unfooled"
COMMON = {
    "errors",
    "files",
    "live_bar",
    "parsing",
    "registry",
    "settings",
    "untrusted",
    "",
}  # "" is the package itself (its version)

sys.path.insert(0, str(ROOT / "docs" / "figures"))
import floor_plan  # noqa: E402


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
    allowed = floor_plan.law()[room] | COMMON | {room}
    for path in sorted((PACKAGE / room).rglob("*.py")):
        too_much = imported_rooms(path) - allowed
        assert not too_much, f"{path.relative_to(PACKAGE)} imports {sorted(too_much)}"


@pytest.mark.parametrize(
    "module",
    [
        "unfooled",
        "unfooled.assets",
        "unfooled.data",
        "unfooled.cli.commands",
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


def test_the_floor_plan_names_every_room_from_the_ground_up() -> None:
    law = floor_plan.law()
    assert sorted(law) == rooms()
    below: set[str] = set()
    for room, used in law.items():
        assert used <= below, f"{room} stands below a room that it uses"
        below.add(room)


def test_picture_and_table_show_the_law() -> None:
    remedy = "run `python docs/figures/floor_plan.py`"
    assert floor_plan.PICTURE.read_text(encoding="utf-8") == floor_plan.picture(), remedy
    page = floor_plan.PAGE.read_text(encoding="utf-8")
    assert page == floor_plan.page_with_table(page), remedy
