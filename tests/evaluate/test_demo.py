"""The demo: its steps with stand-ins for training, and the quick one for real."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from run_folders import prediction, write_run
from typer.testing import CliRunner

from unfooled.cli import app
from unfooled.errors import UsageError
from unfooled.run import demo as demo_module
from unfooled.run.demo import SENTENCES, TEST_TEXTS, demo, demo_config


class Answer(SimpleNamespace):
    def to_dict(self) -> dict[str, Any]:
        return vars(self)


class Stub:
    """A classifier that finds everything positive."""

    labels = ("negative", "positive")

    def predict(self, texts: list[str], *, seed: int) -> list[Answer]:
        return [Answer(**{k: v for k, v in prediction("", "positive").items() if k != "text"}) for _ in texts]


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The defences that were trained; training writes a run by hand."""
    import unfooled.run.folder
    import unfooled.run.train

    names: list[str] = []

    def train(folder: Path, **settings: Any) -> Stub:
        names.append(settings["defence"])
        write_run(folder, marker={"defence": {"name": settings["defence"], "settings": {}}})
        (folder / "config.yaml").write_text(yaml.safe_dump(settings))
        return Stub()

    test = {"text": [f"test text {n}" for n in range(TEST_TEXTS)], "label": [0, 1] * (TEST_TEXTS // 2)}
    monkeypatch.setattr("unfooled.assets.path", lambda name: Path(name))
    monkeypatch.setattr(unfooled.run.train, "train", train)
    monkeypatch.setattr(unfooled.run.folder, "load", lambda folder, **_: Stub())
    monkeypatch.setattr(
        unfooled.run.train, "load_data", lambda config: SimpleNamespace(test=_Sliceable(test))
    )
    return names


class _Sliceable:
    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self.columns = columns

    def __getitem__(self, part: slice) -> dict[str, list[Any]]:
        return {name: values[part] for name, values in self.columns.items()}


def test_each_defence_becomes_a_run_on_one_page(tmp_path: Path, trained: list[str]) -> None:
    result = demo(tmp_path / "demo", defences=("standard", "rsmi"))
    assert trained == ["standard", "rsmi"]
    page = result.report.read_text(encoding="utf-8")
    assert "standard and rsmi on movie-reviews" in page
    assert SENTENCES[1][0] in page
    assert "test text 5" in page
    lines = (result.runs[0] / "predictions.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(SENTENCES) + TEST_TEXTS == 12


def test_finished_runs_are_not_trained_again(tmp_path: Path, trained: list[str]) -> None:
    demo(tmp_path)
    messages: list[str] = []
    demo(tmp_path, defences=("standard", "rsmi"), say=messages.append)
    assert trained == ["standard", "rsmi"]
    assert any("trained before" in message for message in messages)


def test_run_with_other_settings_is_neither_used_nor_replaced(tmp_path: Path, trained: list[str]) -> None:
    demo(tmp_path, quick=True)
    with pytest.raises(UsageError, match=r"other settings \(.*limit"):
        demo(tmp_path)
    assert trained == ["standard"]


def test_interruption_leaves_with_its_own_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo_module, "demo", interrupted)
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "demo")])
    assert result.exit_code == 130


def test_out_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "demo").write_text("")
    with pytest.raises(UsageError, match="is a file"):
        demo(tmp_path / "demo")


@pytest.mark.parametrize("defence", ["standard", "rsmi"])
@pytest.mark.parametrize("quick", [False, True])
def test_settings_of_the_demo_are_a_configuration(defence: str, quick: bool) -> None:
    assert demo_config(defence, quick=quick).defence == defence


@pytest.mark.slow
@pytest.mark.network
def test_quick_demo_trains_predicts_and_reports(tmp_path: Path) -> None:
    out = tmp_path / "demo"
    first = CliRunner().invoke(app, ["demo", "--quick", "--out", str(out), "--json"])
    assert first.exit_code == 0, first.output
    said = json.loads(first.stdout)
    assert Path(said["report"]).is_file()
    assert said["runs"][0]["examples"] == demo_module.QUICK["limit_test"]
    made = (out / "standard" / "unfooled.json").stat().st_mtime_ns
    again = CliRunner().invoke(app, ["demo", "--quick", "--out", str(out)])
    assert again.exit_code == 0, again.output
    assert "report.html" in again.output
    assert (out / "standard" / "unfooled.json").stat().st_mtime_ns == made
    resumed = CliRunner().invoke(app, ["demo", "--out", str(out)])
    assert isinstance(resumed.exception, UsageError)
