"""``unfooled benchmark`` as a user meets it: tables, progress, messages and exit codes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from commands import command, unfooled
from tiny_plans import write_plan_inputs
from unfooled.benchmarks import cell_work as benchmark_run

pytestmark = pytest.mark.usefixtures("swap_recipe")


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a plan with a figure from a paper."""
    folder = tmp_path_factory.mktemp("inputs")
    values = write_plan_inputs(folder)
    values["published"] = {
        "source": "Nobody 2000, Table 7",
        "note": "another encoder",
        "figures": [
            {
                "task": "reviews",
                "model": "LSTM",
                "defence": "rsmi",
                "attack": "swap",
                "racc": 12.3,
                "avgq": 45,
            },
            {"task": "reviews", "model": "GRU", "defence": "other", "attack": "swap", "racc": 99.9},
        ],
    }
    (folder / "plan.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
    return folder / "plan.yaml"


@pytest.fixture(scope="module")
def finished(plan: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """The folder of a benchmark run by the command, what it printed, and what it said meanwhile."""
    folder = tmp_path_factory.mktemp("benchmarks") / "tiny"
    with pytest.MonkeyPatch.context() as patch:
        import io
        from contextlib import redirect_stderr, redirect_stdout

        printed, said = io.StringIO(), io.StringIO()
        with redirect_stdout(printed), redirect_stderr(said):
            assert command(patch, "benchmark", plan, "--out", folder) == 0
    return folder, printed.getvalue(), said.getvalue()


@pytest.mark.full
def test_table_shows_attacks_intervals_published_figures_and_the_page(
    finished: tuple[Path, str, str],
) -> None:
    folder, printed, _ = finished
    asr = json.loads((folder / "runs/reviews-rsmi-s0/attacks/swap/attack.json").read_text())["summary"]["asr"]
    row = next(line for line in printed.splitlines() if line.split()[:3] == ["reviews", "rsmi", "swap"])
    assert f"{asr['value']:.3f}" in row
    assert f"{asr['interval'][0]:.3f}–{asr['interval'][1]:.3f}" in printed
    theirs = next(line for line in printed.splitlines() if "published: LSTM" in line)
    assert "0.123" in theirs and theirs.split()[-1] == "45"
    assert "GRU" not in printed, "figures of defences that the plan has not are for the page"
    assert "Published, not ours: Nobody 2000, Table 7; another encoder" in printed
    assert "certified accuracy" in printed and "std over repeats" in printed
    assert f"Report: {folder / 'report.html'}" in printed.replace("\n", "")


@pytest.mark.full
def test_progress_names_the_cell_its_number_and_the_time_left(finished: tuple[Path, str, str]) -> None:
    _, _, said = finished
    assert "(1/8) train: reviews, standard, seed 0" in said
    assert "(4/8) attack swap: reviews, rsmi, seed 0  more than 0:00:0" in said
    assert "8/8" in said, "examples within a cell"
    last = next(line for line in said.splitlines() if line.startswith("(8/8)"))
    assert "about 0:00:0" in last


def test_second_call_prints_the_same_without_work(
    finished: tuple[Path, str, str],
    plan: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder, printed, _ = finished
    monkeypatch.setattr(benchmark_run, "run_cell", lambda *_, **__: pytest.fail("run again"))
    assert command(monkeypatch, "benchmark", plan, "--out", folder) == 0
    assert capsys.readouterr().out == printed
    assert command(monkeypatch, "benchmark", plan, "--out", folder, "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["counts"]["done"] == 8
    assert result["rows"][1]["attacks"]["swap"]["inputs"] == 8
    assert command(monkeypatch, "report", folder, "--out", folder.parent / "other.html") == 0


def test_dry_run_lists_the_cells_and_makes_nothing(
    plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert command(monkeypatch, "benchmark", plan, "--out", out, "--dry-run", "--scale", "0.5") == 0
    printed = capsys.readouterr().out
    assert "attack swap: reviews, rsmi, seed 0" in printed
    assert "tiny at scale 0.5: 8 cells, 0 done. Nothing was run." in printed
    assert command(monkeypatch, "benchmark", plan, "--out", out, "--dry-run", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["cells"]) == 8
    assert not out.exists()


def test_list_names_every_preset(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(monkeypatch, "benchmark", "--list") == 0
    printed = capsys.readouterr().out
    assert command(monkeypatch, "benchmark", "--list", "--json") == 0
    listed = json.loads(capsys.readouterr().out)["presets"]
    assert {one["name"] for one in listed} >= {"quick", "paper-rsmi"}
    assert all(one["name"] in printed and one["description"] in printed for one in listed)


def test_interrupt_prints_what_there_is_and_how_to_go_on(
    finished: tuple[Path, str, str],
    plan: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = Path(shutil.copytree(finished[0], tmp_path / "tiny"))
    for name in ("reviews-standard-s0", "reviews-rsmi-s0"):
        shutil.rmtree(folder / "runs" / name / "attacks")
    honest = benchmark_run.run_cell

    def interrupted(cell: Any, *arguments: Any, **options: Any) -> None:
        if cell.defence == "rsmi":
            raise KeyboardInterrupt
        honest(cell, *arguments, **options)

    monkeypatch.setattr(benchmark_run, "run_cell", interrupted)
    assert command(monkeypatch, "benchmark", plan, "--out", folder) == 130
    captured = capsys.readouterr()
    assert "reviews  standard" in captured.out and "Report:" in captured.out
    assert "pending: reviews-rsmi-s0/attacks/swap: interrupted" in captured.out
    said = " ".join(captured.err.split())
    assert "Stopped after 7 of 8 cells" in said
    assert "Run the same command again to go on." in said


def test_failed_cell_is_shown_and_leaves_code_1(
    finished: tuple[Path, str, str],
    plan: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = Path(shutil.copytree(finished[0], tmp_path / "tiny"))
    (folder / "runs/reviews-rsmi-s0/repeats/plan/repeat.json").unlink()

    def failing(*_: Any, **__: Any) -> None:
        raise MemoryError("[too] large")

    monkeypatch.setattr("unfooled.api.repeat.repeat", failing)
    assert command(monkeypatch, "benchmark", plan, "--out", folder) == 1
    captured = capsys.readouterr()
    assert "failed: reviews-rsmi-s0/repeats: MemoryError: [too] large" in captured.out
    assert "failed: MemoryError: [too] large" in captured.err
    assert "Traceback" not in captured.err


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ([], 2, "Name a plan"),
        (["missing.yaml"], 2, "missing.yaml"),
        (["PLAN", "--preset", "quick"], 2, "Name a plan: either"),
        (["--preset", "quik"], 2, "Did you mean 'quick'?"),
        (["PLAN", "--scale", "0"], 2, "--scale must be above 0"),
        (["PLAN", "--scale", "2"], 2, "--scale must be above 0 and at most 1"),
        (["PLAN", "--scale", "nan"], 2, "--scale must be above 0 and at most 1"),
        (["PLAN", "--set", "encoder=x"], 2, "--set encoder: "),
        (["PLAN", "--set", "encoder"], 2, "expected name=value"),
        (["--preset", "paper-rsmi-agnews"], 2, "needs a value for agnews: give it with --set agnews="),
    ],
)
def test_wrong_use_gives_a_message_and_makes_nothing(
    plan: Path, tmp_path: Path, options: list[str], code: int, said: str
) -> None:
    given = [str(plan) if option == "PLAN" else option for option in options]
    shown = unfooled("benchmark", *given, cwd=tmp_path)
    assert (shown.returncode, shown.stdout) == (code, b"")
    assert said in shown.said
    assert list(tmp_path.iterdir()) == []
