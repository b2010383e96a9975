"""What the docs name is there: files, imports, and names of the package."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import unfooled

ROOT = Path(__file__).parents[1]
PLACES = (ROOT, ROOT / "src", ROOT / "src/unfooled")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def python_blocks() -> list[tuple[str, ast.Module]]:
    found = [
        (page.name, ast.parse(block))
        for page in PAGES
        for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    ]
    assert len(found) > 15
    return found


def test_files_that_the_docs_name_exist() -> None:
    named = {
        (page.name, name)
        for page in PAGES
        for name in re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)\b", page.read_text(encoding="utf-8"))
    }
    assert len(named) > 60
    assert not {(page, name) for page, name in named if not any((place / name).exists() for place in PLACES)}


def test_imports_that_the_docs_show_work() -> None:
    shown = [
        (page, node.module, alias.name)
        for page, block in python_blocks()
        for node in ast.walk(block)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "unfooled"
        for alias in node.names
    ]
    assert len(shown) > 10
    for page, module, name in shown:
        found = import_module(module)
        assert hasattr(found, name) or import_module(f"{module}.{name}"), f"{page}: {module}.{name}"


def test_names_that_the_docs_take_from_the_package_are_exported() -> None:
    used = {
        (page, node.attr)
        for page, block in python_blocks()
        for node in ast.walk(block)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "uf"
    }
    assert len(used) > 10
    assert not {(page, name) for page, name in used if name not in unfooled.__all__}


def test_a_walk_through_a_verb_is_short_and_never_comes_back() -> None:
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    section = page.split("## One walk per verb")[1].split("\n## ")[0]
    walks = dict(re.findall(r"^- \*\*(\w+)\*\*: (.*?)(?=^- |\Z)", section, flags=re.DOTALL | re.MULTILINE))
    assert sorted(walks) == ["attack", "certify", "predict", "report", "train"]
    for verb, walk in walks.items():
        files = re.findall(r"`([a-z_]+/[^`]+)`", walk)
        assert 5 < len(files) <= 20, verb
        assert len(files) == len(set(files)), verb
