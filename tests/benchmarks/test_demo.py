"""The demo: its plan, what it leaves and tells, with stand-ins for the cells; and the quick one for real."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from run_folders import (
    certificate,
    outcome,
    prediction,
    write_attack,
    write_certificates,
    write_representations,
    write_run,
)
from unfooled.benchmarks import demo as demo_module
from unfooled.benchmarks.cells import Cell
from unfooled.benchmarks.demo import SENTENCES, TEST_TEXTS, demo
from unfooled.benchmarks.plan import AttackPlan
from unfooled.benchmarks.plan_file import read_plan
from unfooled.cli.commands import app
from unfooled.errors import UsageError, UserError

MODELS = ["standard", "rsmi", "random-mask"]
ATTACKS = ["deepwordbug", "pwws", "antonym"]


class Answer(SimpleNamespace):
    def to_dict(self) -> dict[str, Any]:
        return vars(self)


class Stub:
    """A classifier that finds everything positive."""

    labels = ("negative", "positive")

    def predict(self, texts: list[str], *, seed: int) -> list[Answer]:
        return [Answer(**{k: v for k, v in prediction("", "positive").items() if k != "text"}) for _ in texts]


class _Sliceable:
    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self.columns = columns

    def __getitem__(self, part: slice) -> dict[str, list[Any]]:
        return {name: values[part] for name, values in self.columns.items()}


def stand_in(cell: Cell) -> None:
    """What a cell leaves, written by hand."""
    if cell.kind == "train":
        write_run(cell.run, marker={"defence": {"name": cell.defence, "settings": {}}})
        (cell.run / "config.yaml").write_text(yaml.safe_dump(cell.config.to_dict()))
    elif cell.kind == "attack":
        assert isinstance(cell.part, AttackPlan)
        goal = "obstinate" if cell.part.recipe == "antonym" else "fickle"
        outcomes = [outcome(row, f"text {row}", "success" if row < 3 else "failed") for row in range(10)]
        write_attack(cell.result.parent, outcomes, recipe=cell.part.recipe, goal=goal)
    elif cell.kind == "certify":
        found = [certificate(row, f"text {row}", float(row % 3)) for row in range(6)]
        write_certificates(cell.result.parent, found, threat="words")
    else:
        write_representations(cell.run, cell.result.parent.name)


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[Cell]:
    """The cells in the order in which they were run."""
    did: list[Cell] = []

    def run_cell(cell: Cell, *_: Any, **__: Any) -> None:
        did.append(cell)
        stand_in(cell)

    test = {"text": [f"test text {n}" for n in range(TEST_TEXTS)], "label": [0, 1] * (TEST_TEXTS // 2)}
    monkeypatch.setattr("unfooled.assets.path", lambda name: Path(name))
    monkeypatch.setattr("unfooled.benchmarks.cell_work.run_cell", run_cell)
    monkeypatch.setattr("unfooled.benchmarks.check.check_cells", lambda *_: None)
    splits = SimpleNamespace(test=_Sliceable(test))
    monkeypatch.setattr("unfooled.training.data.load_data", lambda config: splits)
    monkeypatch.setattr("unfooled.api.load.load", lambda folder, **_: Stub())
    return did


def trained(done: list[Cell]) -> list[str]:
    return [cell.defence for cell in done if cell.kind == "train"]


@pytest.mark.full
def test_models_are_trained_attacked_certified_and_shown_on_one_page(
    tmp_path: Path, done: list[Cell]
) -> None:
    result = demo(tmp_path / "demo")
    assert trained(done) == MODELS
    assert [(cell.defence, cell.what) for cell in done if cell.kind == "attack"] == [
        (model, recipe) for recipe in ATTACKS for model in ("standard", "rsmi")
    ]
    assert [cell.defence for cell in done if cell.kind == "certify"] == ["random-mask"]
    page = result.report.read_text(encoding="utf-8")
    assert all(name in page for name in MODELS)
    assert SENTENCES[1][0] in page and "test text 5" in page
    lines = (result.runs[0] / "predictions.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(SENTENCES) + TEST_TEXTS == 12
    assert set(result.attacks) == {"standard", "rsmi"} and set(result.certificates) == {"random-mask"}


@pytest.mark.full
def test_the_others_start_from_the_plain_model_and_rsmi_hides_no_scores(
    tmp_path: Path, done: list[Cell]
) -> None:
    demo(tmp_path)
    plain = done[0].run
    assert [cell.config.encoder for cell in done[:3]] == ["minilm", str(plain), str(plain)]
    for cell in done:
        if cell.kind == "attack":
            assert cell.predictor == ({"output": "mean-logit"} if cell.defence == "rsmi" else {})


@pytest.mark.full
def test_finished_parts_are_used_as_they_are(tmp_path: Path, done: list[Cell]) -> None:
    first = demo(tmp_path)
    count = len(done)
    assert demo(tmp_path).attacks == first.attacks
    assert len(done) == count


def test_interrupted_demo_goes_on_with_what_is_missing(
    tmp_path: Path, done: list[Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(cell: Cell, *_: Any, **__: Any) -> None:
        if cell.kind == "attack":
            raise KeyboardInterrupt
        done.append(cell)
        stand_in(cell)

    with monkeypatch.context() as patch:
        patch.setattr("unfooled.benchmarks.cell_work.run_cell", interrupted)
        with pytest.raises(KeyboardInterrupt):
            demo(tmp_path)
    assert len(done) == 3
    (done[1].run / "predictions.jsonl").unlink()
    result = demo(tmp_path)
    assert trained(done) == MODELS and len(result.attacks["rsmi"]) == 3
    assert (done[1].run / "predictions.jsonl").is_file()


@pytest.mark.full
def test_a_failed_part_is_told_and_the_others_are_kept(
    tmp_path: Path, done: list[Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(cell: Cell, *_: Any, **__: Any) -> None:
        if cell.what == "pwws":
            raise UserError("WordNet is gone")
        stand_in(cell)

    with monkeypatch.context() as patch:
        patch.setattr("unfooled.benchmarks.cell_work.run_cell", failing)
        with pytest.raises(UserError, match=r"not complete .*attacks/pwws: WordNet is gone.*Run it again"):
            demo(tmp_path)
    demo(tmp_path)
    assert {cell.what or cell.kind for cell in done} == {"pwws", "representations"}


def test_moved_demo_is_still_the_demo(tmp_path: Path, done: list[Cell]) -> None:
    demo(tmp_path / "here")
    (tmp_path / "here").rename(tmp_path / "there")
    demo(tmp_path / "there")
    assert trained(done) == MODELS


def test_run_with_other_settings_is_neither_used_nor_replaced(tmp_path: Path, done: list[Cell]) -> None:
    demo(tmp_path, quick=True)
    with pytest.raises(UsageError, match=r"another plan: .*limit"):
        demo(tmp_path)
    assert trained(done) == MODELS


def test_command_tells_what_held_and_where_the_page_is(tmp_path: Path, done: list[Cell]) -> None:
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "demo")])
    assert result.exit_code == 0, result.output
    for part in (
        "rsmi: clean test accuracy 0.837",
        "right under pwws: 0.700",
        "ignores a changed meaning under antonym: 0.300",
        "whichever one word is replaced by whatever: 0.667",
        "report.html",
    ):
        assert part in result.output


def test_interruption_leaves_with_its_own_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo_module, "demo", interrupted)
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "demo")])
    assert result.exit_code == 130


def test_out_that_is_a_file_is_refused(tmp_path: Path, done: list[Cell]) -> None:
    (tmp_path / "demo").write_text("")
    with pytest.raises(UsageError, match="is a file"):
        demo(tmp_path / "demo")


@pytest.mark.parametrize("preset", ["demo", "demo-quick"])
def test_both_demos_are_plans_of_the_same_parts(preset: str) -> None:
    plan = read_plan(preset=preset)
    assert [one.name for one in plan.defences] == MODELS
    assert [one.recipe for one in plan.attacks] == ATTACKS
    assert [one.only for one in plan.certificates] == [("random-mask",)]


@pytest.mark.slow
@pytest.mark.network
def test_quick_demo_trains_attacks_certifies_and_reports(tmp_path: Path) -> None:
    out = tmp_path / "demo"
    first = CliRunner().invoke(app, ["demo", "--quick", "--out", str(out), "--json"])
    assert first.exit_code == 0, first.output
    said = json.loads(first.stdout)
    assert Path(said["report"]).is_file()
    plan = read_plan(preset="demo-quick")
    assert said["runs"][0]["examples"] == plan.train["limit_test"]
    assert sorted(said["attacks"]["rsmi"]) == sorted(ATTACKS)
    assert said["certificates"]["random-mask"]["inputs"] == plan.certificates[0].limit
    assert len(list(out.glob("runs/*/representations/*/representations.json"))) == 2
    made = [path.stat().st_mtime_ns for path in sorted(out.glob("runs/*/unfooled.json"))]
    assert len(made) == 3
    again = CliRunner().invoke(app, ["demo", "--quick", "--out", str(out)])
    assert again.exit_code == 0, again.output
    assert "report.html" in again.output
    assert [path.stat().st_mtime_ns for path in sorted(out.glob("runs/*/unfooled.json"))] == made
    other = CliRunner().invoke(app, ["demo", "--out", str(out)])
    assert isinstance(other.exception, UsageError)
