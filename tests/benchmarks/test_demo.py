"""The demo: its plan, what it leaves and tells, with stand-ins for the cells; and the quick one for real."""

from __future__ import annotations

import json
from collections.abc import Sequence
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
    write_run,
)
from unfooled.api.predict import predict
from unfooled.benchmarks import demo as demo_module
from unfooled.benchmarks.cells import Cell
from unfooled.benchmarks.demo import (
    INTRUDERS,
    SENTENCES,
    TEST_TEXTS,
    certified_text,
    demo,
    edited,
)
from unfooled.benchmarks.plan import AttackPlan
from unfooled.benchmarks.plan_file import read_plan
from unfooled.cli.commands import app
from unfooled.errors import UsageError, UserError
from unfooled.files import JsonMapping

MODELS = ["standard", "random-delete"]


CHANGE = {"word": 1, "which": 0, "start": 5, "end": 6, "before": "0", "after": "o"}
CERTIFIED = ['"a" b', "c", '"the" quick fox', "d", "e", "one really quick fox"]
"""Certified for 0, 1 and 2 edits in turn."""


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
        plain = cell.defence == "standard"
        broken = {"changes": (CHANGE,)} if plain else {"fresh_successes": 4, "fresh_total": 20}
        outcomes = [
            outcome(row, f"text {row}", "success", **broken) if row < 3 else outcome(row, f"text {row}")
            for row in range(10)
        ]
        write_attack(cell.result.parent, outcomes, recipe=cell.part.recipe, randomised=not plain)
    else:
        found = [certificate(row, CERTIFIED[row], float(row % 3)) for row in range(6)]
        write_certificates(cell.result.parent, found, threat="edits")


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


@pytest.fixture
def no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for the page, in tests that do not look at it."""

    def report(*_: Any, out: Path) -> None:
        out.write_text("page")

    monkeypatch.setattr("unfooled.api.report.report", report)


def trained(done: list[Cell]) -> list[str]:
    return [cell.defence for cell in done if cell.kind == "train"]


@pytest.mark.full
def test_models_are_trained_attacked_certified_and_shown_on_one_page(
    tmp_path: Path, done: list[Cell]
) -> None:
    result = demo(tmp_path / "demo")
    assert trained(done) == MODELS
    assert [(cell.kind, cell.defence) for cell in done[2:]] == [
        ("attack", "standard"),
        ("attack", "random-delete"),
        ("certify", "random-delete"),
    ]
    page = result.report.read_text(encoding="utf-8")
    assert all(name in page for name in MODELS)
    assert SENTENCES[1][0] in page and "test text 5" in page
    lines = (result.runs[0] / "predictions.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(SENTENCES) + TEST_TEXTS == 12
    assert set(result.attacks) == set(MODELS) and set(result.certificates) == {"random-delete"}


@pytest.mark.full
def test_the_page_is_there_after_every_part(tmp_path: Path, done: list[Cell]) -> None:
    pages: list[str] = []

    def hear(cell: Cell, records: Sequence[JsonMapping]) -> None:
        status = next(record["status"] for record in records if record["name"] == cell.name)
        if status == "done":
            pages.append((tmp_path / "report.html").read_text(encoding="utf-8"))

    demo(tmp_path, on_cell=hear)
    assert len(done) == 5
    pages[-1] = (tmp_path / "report.html").read_text(encoding="utf-8")  # the last comes at the end
    assert SENTENCES[1][0] in pages[0] and "DeepWordBug" not in pages[0]
    assert len(set(pages)) == len(pages)


@pytest.mark.usefixtures("no_page")
def test_the_text_to_check_has_the_largest_radius_and_fits_into_quotes(
    tmp_path: Path, done: list[Cell]
) -> None:
    check = demo(tmp_path).check
    assert check is not None
    assert (check.text, check.edits, check.label) == ("one really quick fox", 2, "positive")
    assert check.edited == "one goalkeeper parliament fox"


def test_without_a_certificate_for_an_edit_there_is_nothing_to_check(tmp_path: Path) -> None:
    none = [certificate(0, "a", 0.0), certificate(1, "b", 3.0, correct=False), certificate(2, "c", None)]
    made = write_certificates(tmp_path / "certificates", none, threat="edits")
    cell = SimpleNamespace(run=tmp_path, result=made / "certificate.json")
    assert certified_text(cell) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(("label", "edits"), [("sports", 1), ("tech", 3), ("politics", 6)])
def test_an_edited_text_differs_in_as_many_words_and_none_is_of_its_topic(label: str, edits: int) -> None:
    text = "a bb ccc dddd eeeee ffffff ggggggg"
    before, after = text.split(), edited(text, label, edits).split()
    changed = [new for old, new in zip(before, after, strict=True) if old != new]
    assert len(changed) == edits
    assert INTRUDERS[label] not in changed and set(changed) <= set(INTRUDERS.values())


@pytest.mark.usefixtures("no_page")
def test_finished_parts_are_used_as_they_are(tmp_path: Path, done: list[Cell]) -> None:
    first = demo(tmp_path)
    count = len(done)
    assert demo(tmp_path).attacks == first.attacks
    assert len(done) == count


@pytest.mark.usefixtures("no_page")
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
    assert len(done) == 2
    (done[1].run / "predictions.jsonl").unlink()
    result = demo(tmp_path)
    assert trained(done) == MODELS and set(result.attacks) == set(MODELS)
    assert (done[1].run / "predictions.jsonl").is_file()


@pytest.mark.usefixtures("no_page")
def test_a_failed_part_is_told_and_the_others_are_kept(
    tmp_path: Path, done: list[Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(cell: Cell, *_: Any, **__: Any) -> None:
        if cell.what == "deepwordbug" and cell.defence == "standard":
            raise UserError("the disk is full")
        stand_in(cell)

    with monkeypatch.context() as patch:
        patch.setattr("unfooled.benchmarks.cell_work.run_cell", failing)
        with pytest.raises(
            UserError, match=r"not complete .*attacks/deepwordbug: the disk is full.*Run it again"
        ):
            demo(tmp_path)
    demo(tmp_path)
    assert [(cell.defence, cell.what) for cell in done] == [("standard", "deepwordbug")]


@pytest.mark.usefixtures("no_page")
def test_moved_demo_is_still_the_demo(tmp_path: Path, done: list[Cell]) -> None:
    demo(tmp_path / "here")
    (tmp_path / "here").rename(tmp_path / "there")
    demo(tmp_path / "there")
    assert trained(done) == MODELS


@pytest.mark.usefixtures("no_page")
def test_run_with_other_settings_is_neither_used_nor_replaced(tmp_path: Path, done: list[Cell]) -> None:
    demo(tmp_path, quick=True)
    with pytest.raises(UsageError, match=r"another plan: .*limit"):
        demo(tmp_path)
    assert trained(done) == MODELS


@pytest.mark.usefixtures("no_page")
def test_command_tells_what_held_and_where_the_page_is(tmp_path: Path, done: list[Cell]) -> None:
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "demo")])
    assert result.exit_code == 0, result.output
    for part in (
        "standard is right on 83.7 % of 1000 test texts",
        SENTENCES[1][0],
        "The page so far: file://",
        "under them (deepwordbug) on 70.0 % (39.7 to 89.2 %; 7 of 10).",
        "positive → negative, 1 of 2 words",
        "or 100.0 % (72.2 to 100.0 %; 10 of 10) if only successes count that hold on fresh noise",
        "stays right on 33.3 % (9.7 to 70.0 %; 2 of 6) whichever 2 words are inserted, deleted or replaced",
        "is certified, whichever 2 words you insert, delete or replace:\n    one really quick fox",
        '--certified "one goalkeeper parliament fox"',
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
    assert [(one.recipe, one.only) for one in plan.attacks] == [("deepwordbug", tuple(MODELS))]
    assert [(one.threat, one.only) for one in plan.certificates] == [("edits", ("random-delete",))]


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
    assert {name: list(found) for name, found in said["attacks"].items()} == {
        name: ["deepwordbug"] for name in MODELS
    }
    assert said["certificates"]["random-delete"]["inputs"] == plan.certificates[0].limit
    if said["check"]:  # the promise, kept by the answers that keep it
        answer = predict(said["check"]["run"], [said["check"]["edited"]], certified=True)[0]
        assert answer.abstained or answer.label == said["check"]["label"]
    made = [path.stat().st_mtime_ns for path in sorted(out.glob("runs/*/unfooled.json"))]
    assert len(made) == 2
    again = CliRunner().invoke(app, ["demo", "--quick", "--out", str(out)])
    assert again.exit_code == 0, again.output
    assert "report.html" in again.output
    assert [path.stat().st_mtime_ns for path in sorted(out.glob("runs/*/unfooled.json"))] == made
    other = CliRunner().invoke(app, ["demo", "--out", str(out)])
    assert isinstance(other.exception, UsageError)
