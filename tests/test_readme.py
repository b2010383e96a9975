"""Every command and every Python line of the README runs; only sizes are cut short."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from commands import unfooled
from warm_processes import start_warm

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SHORT = ["--limit", "48", "--limit-dev", "8", "--limit-test", "8", "--epochs", "1", "--layers", "1"]
CUT = {
    "train": SHORT,
    "sweep": SHORT,
    "repeat": ["--repeats", "2", "--limit", "4"],
    "attack": ["--limit", "3"],
    "certify": ["--limit", "2", "--n0", "10", "--n", "40"],
    "benchmark": ["--dry-run"],
}
FEWER = {"sigma=0.1,0.2,0.4": "sigma=0.1"}
"""Of six trainings of the sweep, two."""


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def commands() -> list[list[str]]:
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    return [shlex.split(line, comments=True) for line in lines if line.strip()]


def test_readme_shows_the_verbs_that_work() -> None:
    assert {command[1] for command in commands() if command[0] == "unfooled"} >= {
        "train",
        "predict",
        "attack",
        "certify",
        "report",
        "sweep",
        "repeat",
    }


@pytest.mark.parametrize("command", [c for c in commands() if c[0] == "make"], ids=" ".join)
def test_make_commands_are_targets(command: list[str]) -> None:
    result = subprocess.run(
        ["make", "-n", *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.network
def test_python_example_and_commands_run_in_order(tmp_path: Path) -> None:
    (tmp_path / "reviews.csv").write_text(
        "review,stars\n" + "".join(f"a film of {n} words,{n % 3 + 1}\n" for n in range(90)), encoding="utf-8"
    )
    (tmp_path / "new.csv").write_text("review\nfine film\n", encoding="utf-8")
    assert all(many in README for many in FEWER)
    for command in commands():
        if command[0] != "unfooled":
            continue
        given = [FEWER.get(part, part) for part in command[1:]]
        shown = unfooled(*given, *CUT.get(command[1], []), cwd=tmp_path)
        assert shown.returncode == 0, f"{shlex.join(command)}\n{shown.stderr.decode()}"
    assert (tmp_path / "report.html").stat().st_size > 1000
    shortened = "\n".join(blocks("python"))
    for whole, cut in (
        (
            'defence="rsmi")',
            'defence="rsmi", limit=48, limit_dev=8, limit_test=8, epochs=1.0, layers=1, overwrite=True)',
        ),
        ("limit=200", "limit=3"),
        ("limit=20,", "limit=2,"),
        ('threat="words"))', 'threat="words", sampling=uf.Sampling(n0=10, n=40)))'),
        ("n=1000", "n=40"),
    ):
        assert whole in shortened
        shortened = shortened.replace(whole, cut)
    process = start_warm(["-c", shortened], cwd=tmp_path)
    printed, errors = process.communicate()
    assert process.returncode == 0, errors.decode()
    assert printed.decode().split()[0] in ("positive", "negative")


def test_links_of_the_readme_and_docs_lead_somewhere() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
