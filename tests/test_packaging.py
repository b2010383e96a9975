"""The wheel and the sdist: what is in them, and that the package works from the wheel alone."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = [pytest.mark.full, pytest.mark.network]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both archives, built from the tracked files as a release would be."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("needs a clone of the repository and git")
    place = tmp_path_factory.mktemp("built")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (place / "source" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, place / "source" / name)
    command = [sys.executable, "-m", "build", "--outdir", str(place / "dist"), str(place / "source")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return place / "dist"


def test_wheel_holds_every_file_of_the_package_and_nothing_else(built: Path) -> None:
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        inside = {name for name in wheel.namelist() if ".dist-info/" not in name}
    package = ROOT / "src"
    expected = {
        str(path.relative_to(package))
        for path in package.glob("unfooled/**/*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert inside == expected
    assert any(name.endswith(".yaml") for name in inside) and any("templates" in name for name in inside)


def test_sdist_builds_the_same_and_carries_licence_and_readme(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"LICENSE", "README.md", "pyproject.toml", "src/unfooled/assets/manifest.toml"} <= names


def test_commands_work_from_the_wheel_alone(built: Path, tmp_path: Path) -> None:
    wheel = next(built.glob("*.whl"))
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--target",
        str(tmp_path / "at"),
    ]
    subprocess.run([*install, str(wheel)], check=True, capture_output=True)

    def unfooled(*words: str) -> str:
        code = "import sys, unfooled.cli; sys.stderr.write(unfooled.__file__); unfooled.cli.main()"
        done = subprocess.run(
            [sys.executable, "-c", code, *words],
            cwd=tmp_path,
            env={"PYTHONPATH": str(tmp_path / "at"), "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr.startswith(str(tmp_path / "at"))
        return done.stdout

    assert "minilm" in [one["name"] for one in json.loads(unfooled("assets", "list", "--json"))["assets"]]
    assert "demo" in unfooled("benchmark", "--list")
    defences = json.loads(unfooled("train", "--list-defences", "--json"))["defences"]
    assert {"standard", "rsmi"} <= {one["name"] for one in defences}
