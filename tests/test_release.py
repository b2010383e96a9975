"""What the package says of itself: one version everywhere, Python versions, pins, extras."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

import unfooled
from unfooled.api.doctor import EXTRAS

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ABOUT = PROJECT["project"]


def named(requirements: list[str]) -> set[str]:
    """The packages of a list of requirements, as package indexes spell them."""
    found = (re.match(r"[A-Za-z0-9._-]+", one) for one in requirements)
    return {re.sub(r"[-_.]+", "-", match[0]).lower() for match in found if match}


def test_version_is_the_same_in_package_metadata_and_citation() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert ABOUT["version"] == unfooled.__version__ == str(citation["version"])
    assert ABOUT["license"] == citation["license"]


def test_oldest_python_is_one_that_is_tested() -> None:
    oldest = ABOUT["requires-python"].removeprefix(">=")
    listed = [name.rpartition(" ")[2] for name in ABOUT["classifiers"] if ":: 3." in name]
    assert listed == [oldest] == [PROJECT["tool"]["mypy"]["python_version"]]
    said = [
        version
        for page in ("README.md", "Makefile")
        for version in re.findall(r"Python (3\.\d+)", (ROOT / page).read_text(encoding="utf-8"))
    ]
    assert said and set(said) == {oldest}


def test_every_dependency_is_pinned_for_a_repeatable_install() -> None:
    pinned = named((ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines())
    extras = [one for extra in ABOUT["optional-dependencies"].values() for one in extra]
    asked = named(ABOUT["dependencies"] + extras)
    assert len(asked) > 20 and asked <= pinned, asked - pinned


def test_developers_have_every_extra_and_doctor_knows_each() -> None:
    extras = ABOUT["optional-dependencies"]
    assert named(extras["dev"]) >= {name for extra in extras.values() for name in named(extra)}
    assert set(EXTRAS) == set(extras) - {"dev", "docs"}
    for extra, (package, _) in EXTRAS.items():
        assert package in named(extras[extra])
