"""``train --overwrite``: the old model is whole until the new one is, and no result changes its owner."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest

import unfooled as uf
from tiny_attacks import Swap
from tiny_runs import write_inputs
from unfooled.errors import UserError
from warm_processes import start_warm

pytestmark = pytest.mark.full

TEXTS = ["the film is awful", "this plot is gorgeous"]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return write_inputs(tmp_path_factory.mktemp("inputs")) | {"lr": 3e-3, "epochs": 1.0}


@pytest.fixture(scope="module")
def first(inputs: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with results, to be copied."""
    run = tmp_path_factory.mktemp("first") / "run"
    classifier = uf.train(run, **inputs)
    uf.attack(classifier, recipe=Swap(), limit=6)
    uf.repeat(classifier, repeats=1, limit=6)
    return run


@pytest.fixture
def attacked(first: Path, tmp_path: Path) -> Path:
    """A run with results."""
    return Path(shutil.copytree(first, tmp_path / "run"))


def answers(run: Path) -> list[dict[str, float]]:
    return [one.scores for one in uf.load(run, device="cpu").predict(TEXTS)]


def test_a_new_model_takes_over_none_of_the_results_of_the_old_one(
    attacked: Path, inputs: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    before = answers(attacked)
    made = uf.train(attacked, overwrite=True, **{**inputs, "seed": 1})
    assert made.folder == attacked
    assert answers(attacked) != before
    assert not any((attacked / name).exists() for name in ("attacks", "repeats", "checkpoints"))
    assert (attacked.with_name("run.previous") / "attacks/swap/attack.json").is_file()
    assert answers(attacked.with_name("run.previous")) == before
    assert "run.previous, with its results" in capsys.readouterr().err
    assert sorted(path.name for path in attacked.parent.iterdir()) == ["run", "run.previous"]


def test_a_replacement_that_is_killed_leaves_the_old_model_and_goes_on(
    attacked: Path, inputs: dict[str, Any]
) -> None:
    before = answers(attacked)
    longer = {**inputs, "epochs": 6.0, "seed": 1}
    code = f"import unfooled as uf; uf.train({str(attacked)!r}, overwrite=True, **{longer!r})"
    process = start_warm(["-c", code])
    deadline = time.monotonic() + 120
    while not list(attacked.parent.glob(".run.new/checkpoints/checkpoint-*/trainer_state.json")):
        assert process.poll() is None, "training ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert answers(attacked) == before
    assert (attacked / "attacks/swap/attack.json").is_file()
    made = uf.train(attacked, overwrite=True, **longer)
    assert made.metrics["train"]["resumed"] is True
    assert answers(attacked.with_name("run.previous")) == before != answers(attacked)


def test_a_replacement_with_other_settings_starts_anew(
    attacked: Path, inputs: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("unfooled.api.train.save", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            uf.train(attacked, overwrite=True, **{**inputs, "seed": 1})
    assert (attacked.with_name(".run.new") / "checkpoints").is_dir()
    made = uf.train(attacked, overwrite=True, **{**inputs, "seed": 2})
    assert made.metrics["train"]["resumed"] is False
    assert json.loads((attacked / "metrics.json").read_text())["seed"] == 2


@pytest.mark.parametrize("moves", [0, 1])
def test_a_replacement_that_is_killed_between_its_moves_is_finished_without_training(
    attacked: Path, inputs: dict[str, Any], moves: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, rename, done = answers(attacked), Path.rename, []

    def killed(path: Path, target: Path) -> Path:
        if len(done) == moves:
            raise KeyboardInterrupt
        done.append(target)
        return rename(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", killed)
        with pytest.raises(KeyboardInterrupt):
            uf.train(attacked, overwrite=True, **{**inputs, "seed": 1})
    if moves:
        with pytest.raises(UserError, match=r"the run that was there is .*run\.previous"):
            uf.load(attacked)
    else:
        assert answers(attacked) == before
    monkeypatch.setattr("unfooled.api.train.fit", lambda *_: pytest.fail("trained again"))
    made = uf.train(attacked, overwrite=True, **{**inputs, "seed": 1})
    assert (made.folder, made.metrics["seed"]) == (attacked, 1)
    assert answers(attacked.with_name("run.previous")) == before != answers(attacked)


def test_the_report_refuses_a_run_whose_weights_were_replaced(
    attacked: Path, inputs: dict[str, Any], tmp_path: Path
) -> None:
    uf.report(attacked, out=tmp_path / "before.html")
    other = uf.train(tmp_path / "other", **{**inputs, "seed": 1})
    assert other.folder is not None
    weights = (other.folder / "model.safetensors").read_bytes()
    (attacked / "model.safetensors").write_bytes(weights)
    with pytest.raises(UserError, match=r"model\.safetensors is not what training saved"):
        uf.report(attacked, out=tmp_path / "after.html")


def test_the_report_shows_no_result_that_was_measured_on_other_weights(
    attacked: Path, inputs: dict[str, Any], tmp_path: Path
) -> None:
    shown = uf.report(attacked, out=tmp_path / "own.html")
    assert not shown.not_shown
    assert all(f'id="{name}"' in shown.path.read_text() for name in ("attacks", "repeats"))
    uf.train(attacked, overwrite=True, **{**inputs, "seed": 1})
    for name in ("attacks", "repeats"):  # someone moves the old results into the new run
        (attacked.with_name("run.previous") / name).rename(attacked / name)
    marked = uf.report(attacked, out=tmp_path / "foreign.html")
    assert len(marked.not_shown) == 2
    page = marked.path.read_text()
    assert "attacks/swap was measured on other weights than the run has: not shown" in page
    assert "repeats/plain/repeat.json was measured on other weights than the run has: not shown" in page
    assert not any(f'id="{name}"' in page for name in ("attacks", "repeats"))
