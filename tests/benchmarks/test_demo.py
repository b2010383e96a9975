"""The demo: its steps with stand-ins for training, attacks and certificates, and the quick one for real."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from run_folders import prediction, write_run
from unfooled.benchmarks import demo as demo_module
from unfooled.benchmarks.demo import ATTACKS, FULL, QUICK, SENTENCES, TEST_TEXTS, demo, demo_config
from unfooled.cli import app
from unfooled.errors import UsageError
from unfooled.statistics.intervals import rate
from unfooled.storage import provenance as recorded

MODELS = ["standard", "rsmi", "random-mask"]


class Answer(SimpleNamespace):
    def to_dict(self) -> dict[str, Any]:
        return vars(self)


class Stub:
    """A classifier that finds everything positive."""

    labels = ("negative", "positive")

    def predict(self, texts: list[str], *, seed: int) -> list[Answer]:
        return [Answer(**{k: v for k, v in prediction("", "positive").items() if k != "text"}) for _ in texts]


class Done(SimpleNamespace):
    """What the demo asked for, in order."""

    trained: list[dict[str, Any]]
    attacked: list[tuple[str, dict[str, Any]]]
    certified: list[tuple[str, dict[str, Any]]]
    represented: list[str]

    @property
    def models(self) -> list[str]:
        return [settings["defence"] for settings in self.trained]


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> Done:
    """Training writes a run by hand; attacks and certificates write nothing."""
    did = Done(trained=[], attacked=[], certified=[], represented=[])

    def train(folder: Path, **settings: Any) -> Stub:
        did.trained.append(settings)
        write_run(folder, marker={"defence": {"name": settings["defence"], "settings": {}}})
        (folder / "config.yaml").write_text(yaml.safe_dump(settings))
        return Stub()

    def attack(run: Path, **settings: Any) -> SimpleNamespace:
        did.attacked.append((run.name, {**settings, "command": recorded.command()}))
        summary = {"goal": "obstinate" if settings["recipe"] == "antonym" else "fickle"}
        verified = {"racc_verified": rate(12, 20), "asr_verified": rate(5, 17)} if run.name == "rsmi" else {}
        return SimpleNamespace(summary={**summary, "racc": rate(7, 20), "asr": rate(9, 17), **verified})

    def certify(run: Path, **settings: Any) -> SimpleNamespace:
        did.certified.append((run.name, settings))
        curve = [{"radius": radius, **rate(18 - 7 * radius, 30)} for radius in range(3)]
        return SimpleNamespace(summary={"curve": curve})

    test = {"text": [f"test text {n}" for n in range(TEST_TEXTS)], "label": [0, 1] * (TEST_TEXTS // 2)}
    splits = SimpleNamespace(test=_Sliceable(test))
    monkeypatch.setattr("unfooled.assets.path", lambda name: Path(name))
    monkeypatch.setattr("unfooled.api.train.train", train)
    monkeypatch.setattr("unfooled.api.train.load_data", lambda config: splits)
    monkeypatch.setattr("unfooled.api.load.load", lambda folder, **_: Stub())
    monkeypatch.setattr("unfooled.api.attack.attack", attack)
    monkeypatch.setattr("unfooled.api.certify.certify", certify)
    monkeypatch.setattr("unfooled.api.represent.represent", lambda run, **_: did.represented.append(run.name))
    return did


class _Sliceable:
    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self.columns = columns

    def __getitem__(self, part: slice) -> dict[str, list[Any]]:
        return {name: values[part] for name, values in self.columns.items()}


def test_plain_model_comes_first_and_the_others_from_it(tmp_path: Path, done: Done) -> None:
    result = demo(tmp_path / "demo")
    assert done.models == MODELS
    encoders = [settings["encoder"] for settings in done.trained]
    assert encoders == ["minilm", str(tmp_path / "demo/standard"), str(tmp_path / "demo/standard")]
    page = result.report.read_text(encoding="utf-8")
    assert all(name in page for name in MODELS)
    assert SENTENCES[1][0] in page
    assert "test text 5" in page
    lines = (result.runs[0] / "predictions.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(SENTENCES) + TEST_TEXTS == 12


def test_plain_and_rsmi_meet_the_same_attacks_and_rsmi_hides_no_scores(tmp_path: Path, done: Done) -> None:
    result = demo(tmp_path)
    assert [(name, one["recipe"]) for name, one in done.attacked] == [
        (name, recipe) for name in ("standard", "rsmi") for recipe in ATTACKS
    ]
    assert {one["limit"] for _, one in done.attacked} == {FULL.attacked}
    for name, one in done.attacked:
        assert one["predictor"] == ({"output": "mean-logit"} if name == "rsmi" else {})
        assert ("--predictor-set output=mean-logit" in str(one["command"])) is (name == "rsmi")
    assert done.represented == ["standard", "rsmi"]
    assert result.attacks["rsmi"]["pwws"]["racc_verified"]["count"] == 12


def test_certificates_are_asked_of_the_model_that_was_trained_for_them(tmp_path: Path, done: Done) -> None:
    result = demo(tmp_path, quick=True)
    ((name, asked),) = done.certified
    assert (name, asked["threat"], asked["limit"]) == ("random-mask", "words", QUICK.certified)
    assert result.certificates["random-mask"]["curve"][1]["count"] == 11


def test_finished_runs_are_not_trained_again(tmp_path: Path, done: Done) -> None:
    demo(tmp_path)
    messages: list[str] = []
    demo(tmp_path, say=messages.append)
    assert done.models == MODELS
    assert sum("trained before" in message for message in messages) == 3


def test_interrupted_demo_goes_on_with_what_is_missing(
    tmp_path: Path, done: Done, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("unfooled.api.attack.attack", interrupted)
        with pytest.raises(KeyboardInterrupt):
            demo(tmp_path)
    assert done.models == MODELS and not done.attacked
    demo(tmp_path)
    assert done.models == MODELS and len(done.attacked) == 6


def test_moved_demo_is_still_the_demo(tmp_path: Path, done: Done) -> None:
    demo(tmp_path / "here")
    (tmp_path / "here").rename(tmp_path / "there")
    demo(tmp_path / "there")
    assert done.models == MODELS


def test_run_with_other_settings_is_neither_used_nor_replaced(tmp_path: Path, done: Done) -> None:
    demo(tmp_path, quick=True)
    with pytest.raises(UsageError, match=r"other settings \(.*limit"):
        demo(tmp_path)
    assert done.models == MODELS


def test_command_tells_what_held_and_where_the_page_is(tmp_path: Path, done: Done) -> None:
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "demo")])
    assert result.exit_code == 0, result.output
    for part in (
        "rsmi: clean test accuracy 0.837",
        "right under pwws: 0.350",
        "re-verified on fresh noise: 0.600",
        "ignores a changed meaning under antonym: 0.529",
        "whichever one word is replaced by whatever: 0.367",
        "report.html",
    ):
        assert part in result.output


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


@pytest.mark.parametrize("defence", MODELS)
@pytest.mark.parametrize("quick", [False, True])
def test_settings_of_the_demo_are_a_configuration(defence: str, quick: bool) -> None:
    from unfooled.defences import make_defence

    config = demo_config(defence, Path("demo"), quick=quick)
    assert make_defence(config.defence, config.settings).name == defence


@pytest.mark.slow
@pytest.mark.network
def test_quick_demo_trains_attacks_certifies_and_reports(tmp_path: Path) -> None:
    out = tmp_path / "demo"
    first = CliRunner().invoke(app, ["demo", "--quick", "--out", str(out), "--json"])
    assert first.exit_code == 0, first.output
    said = json.loads(first.stdout)
    assert Path(said["report"]).is_file()
    assert said["runs"][0]["examples"] == QUICK.training["standard"]["limit_test"]
    assert sorted(said["attacks"]["rsmi"]) == sorted(ATTACKS)
    assert said["certificates"]["random-mask"]["inputs"] == QUICK.certified
    assert (out / "rsmi" / "representations.json").is_file()
    made = [path.stat().st_mtime_ns for path in sorted(out.glob("*/unfooled.json"))]
    again = CliRunner().invoke(app, ["demo", "--quick", "--out", str(out)])
    assert again.exit_code == 0, again.output
    assert "report.html" in again.output
    assert [path.stat().st_mtime_ns for path in sorted(out.glob("*/unfooled.json"))] == made
    resumed = CliRunner().invoke(app, ["demo", "--out", str(out)])
    assert isinstance(resumed.exception, UsageError)
