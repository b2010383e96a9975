"""Training: what a run folder holds, and what happens when training is disturbed."""

from __future__ import annotations

import errno
import inspect
import json
import os
import signal
import subprocess
import typing
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

import unfooled as uf
from child_processes import start_python, wait_until
from tiny_runs import write_inputs
from unfooled.errors import UsageError, UserError
from unfooled.storage.config import TrainConfig, make_config
from unfooled.storage.locks import alone
from unfooled.training.trainer import SessionTrainer
from warm_processes import start_warm


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return write_inputs(tmp_path_factory.mktemp("inputs")) | {"lr": 3e-3, "epochs": 6.0}


@pytest.fixture(scope="module")
def finished(inputs: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "plain"
    uf.train(folder, **inputs)
    return folder


@pytest.mark.full
def test_run_learns_and_predicts_after_loading(finished: Path) -> None:
    metrics = json.loads((finished / "metrics.json").read_text())
    assert metrics["test"]["accuracy"] >= 0.9
    low, high = metrics["test"]["accuracy_interval"]
    assert low <= metrics["test"]["accuracy"] <= high
    labels = [p.label for p in uf.load(finished).predict(["this plot is gorgeous", "the film is awful"])]
    assert labels == ["up", "down"]


@pytest.mark.full
def test_run_folder_opens_with_plain_transformers(finished: Path) -> None:
    from transformers import pipeline

    answer = pipeline("text-classification", model=str(finished), device="cpu")("the film is awful")[0]
    assert answer["label"] == "down"
    assert not list(finished.glob("*.bin"))
    assert (finished / "model.safetensors").exists()


@pytest.mark.full
def test_run_folder_records_config_versions_seed_metrics_and_card(
    finished: Path, inputs: dict[str, Any]
) -> None:
    config = yaml.safe_load((finished / "config.yaml").read_text())
    assert config["lr"] == inputs["lr"]
    assert config["seed"] == 0
    metrics = json.loads((finished / "metrics.json").read_text())
    assert metrics["versions"]["torch"]
    assert metrics["seed"] == 0
    card = (finished / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: transformers")
    assert f"{metrics['test']['accuracy']:.4f}" in card
    assert any((finished / "logs").iterdir()), "no TensorBoard log"
    assert not (finished / "checkpoints").exists()


@pytest.mark.full
def test_the_same_seed_gives_the_same_model(finished: Path, inputs: dict[str, Any], tmp_path: Path) -> None:
    uf.train(tmp_path / "again", **inputs)
    assert (tmp_path / "again/model.safetensors").read_bytes() == (
        finished / "model.safetensors"
    ).read_bytes()


@pytest.mark.full
def test_training_stops_early_when_dev_accuracy_does_not_rise(
    finished: Path, inputs: dict[str, Any], tmp_path: Path
) -> None:
    uf.train(tmp_path / "early", **{**inputs, "lr": 0.0, "patience": 1})
    early = json.loads((tmp_path / "early/metrics.json").read_text())["train"]["steps"]
    assert early * 3 == json.loads((finished / "metrics.json").read_text())["train"]["steps"]


@pytest.mark.full
def test_finished_run_is_not_overwritten_unasked(finished: Path, inputs: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="--overwrite"):
        uf.train(finished, **inputs)


@pytest.mark.full
def test_overwrite_replaces_a_finished_run_once_the_new_one_is_known_to_be_good(
    inputs: dict[str, Any], tmp_path: Path
) -> None:
    short = {**inputs, "epochs": 1.0}
    uf.train(tmp_path / "run", **short)
    (tmp_path / "run/predictions.jsonl").write_text("{}")
    with pytest.raises(UserError, match="no/such"):
        uf.train(tmp_path / "run", overwrite=True, **{**short, "encoder": "no/such/folder"})
    assert uf.load(tmp_path / "run").labels == ("down", "up")
    uf.train(tmp_path / "run", overwrite=True, **{**short, "seed": 1})
    assert json.loads((tmp_path / "run/metrics.json").read_text())["seed"] == 1
    assert not (tmp_path / "run/predictions.jsonl").exists()


def test_foreign_folder_is_left_alone(inputs: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    for overwrite in (False, True):
        with pytest.raises(UsageError, match="not empty"):
            uf.train(tmp_path, overwrite=overwrite, **inputs)
    assert (tmp_path / "thesis.tex").read_text() == "precious"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"defence": "rsmii"}, "rsmi"),
        ({"defence": "rsmi", "settings": {"sigma": -1}}, "sigma"),
        ({"encoder": "no/such/folder"}, "no/such/folder"),
        ({"text_column": "reviw"}, "review"),
        ({"epochs": 0}, "epochs"),
        ({"device": "cuda:99"}, "cuda:99"),
        ({"precision": "fp8"}, "precision"),
        ({"task": "movie-reviews"}, "--task"),
    ],
)
def test_bad_setting_is_refused_by_name_and_leaves_nothing(
    inputs: dict[str, Any], tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        uf.train(tmp_path / "run", **{**inputs, **change})
    assert not (tmp_path / "run").exists()


@pytest.mark.full
def test_killed_training_goes_on_and_ends_like_an_undisturbed_run(
    inputs: dict[str, Any], tmp_path: Path
) -> None:
    # Every part in a process of its own: libraries that other tests have loaded may change the rounding. The
    # last one is a fresh Python, in which sets have another order.
    def code(folder: Path) -> str:
        return f"import unfooled as uf; uf.train({str(folder)!r}, **{inputs!r})"

    folder, undisturbed = tmp_path / "killed", tmp_path / "undisturbed"
    assert start_warm(["-c", code(undisturbed)]).wait() == 0
    process = start_warm(["-c", code(folder)])
    wait_until(process, lambda: list(folder.glob("checkpoints/checkpoint-*/trainer_state.json")))
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (folder / "unfooled.json").exists()
    with pytest.raises(UserError, match="not finished"):
        uf.load(folder)
    with pytest.raises(UsageError, match="lr"):
        uf.train(folder, **{**inputs, "lr": 1e-5})
    assert start_python(code(folder), stderr=subprocess.DEVNULL).wait() == 0
    assert json.loads((folder / "metrics.json").read_text())["train"]["resumed"] is True
    assert (folder / "model.safetensors").read_bytes() == (undisturbed / "model.safetensors").read_bytes()


def test_a_second_training_in_the_same_folder_is_refused_and_changes_nothing(
    inputs: dict[str, Any], tmp_path: Path
) -> None:
    with alone(tmp_path / "run", "training"):
        for overwrite in (False, True):
            with pytest.raises(UserError, match=f"Another training .*process {os.getpid()}"):
                uf.train(tmp_path / "run", overwrite=overwrite, **inputs)
        assert not [path for path in (tmp_path / "run").iterdir() if path.name[0] != "."]


@pytest.mark.parametrize("every", ["often", "5 hours", "-1", -1, "min", "1e3"])
def test_a_time_between_checkpoints_that_cannot_be_read_is_refused_by_name(
    inputs: dict[str, Any], tmp_path: Path, every: int | str
) -> None:
    with pytest.raises(UsageError, match="--checkpoint-every"):
        uf.train(tmp_path / "run", checkpoint_every=every, **inputs)


def test_steps_and_minutes_between_checkpoints_are_told_apart() -> None:
    def read(every: int | str) -> tuple[int, float]:
        times = make_config({"task": "spam", "checkpoint_every": every}).checkpoints
        return times.steps, times.seconds

    assert [read(200), read("200"), read("5min"), read("0.5 min"), read(0)] == [
        (200, 0),
        (200, 0),
        (0, 300),
        (0, 30),
        (0, 0),
    ]


@pytest.mark.full
def test_a_disk_that_fills_up_costs_the_steps_since_the_checkpoint_before(
    inputs: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {**inputs, "epochs": 1.0, "checkpoint_every": 5}
    uf.train(tmp_path / "undisturbed", **settings)
    steps: list[int] = []

    def fill(self: SessionTrainer, folder: str) -> None:
        steps.append(self.state.global_step)
        if len(steps) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), folder)

    monkeypatch.setattr(SessionTrainer, "_save_scaler", fill)
    with pytest.raises(UserError, match=r"step 10 was not written.*No space left.*Make room"):
        uf.train(tmp_path / "full", **settings)
    assert [path.name for path in (tmp_path / "full/checkpoints").iterdir()] == ["checkpoint-5"]
    # How often checkpoints are written may change on the way.
    again = uf.train(tmp_path / "full", **{**settings, "checkpoint_every": "1min"})
    assert again.metrics["train"]["resumed"] and steps == [5, 10, 16]
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("full", "undisturbed")]
    assert weights[0] == weights[1]


def test_every_parameter_is_a_field_of_the_configuration_with_its_type_and_default() -> None:
    shown = inspect.signature(uf.train, eval_str=True).parameters
    declared = {name: (hint, ...) for name, hint in typing.get_type_hints(TrainConfig).items()}
    declared |= {field.name: (declared[field.name][0], field.default) for field in fields(TrainConfig)}
    # Any sequence and mapping will do; None stands for no settings.
    declared |= {"labels": (Sequence[str] | None, None), "settings": (Mapping[str, object] | None, None)}
    declared |= {"augment": (Sequence[str], ())}
    assert list(shown) == ["out", *declared, "overwrite", "workers", "ray", "model", "progress"]
    for name, expected in declared.items():
        assert (shown[name].annotation, shown[name].default) == expected, name


def test_an_unknown_parameter_is_an_error() -> None:
    with pytest.raises(TypeError, match="batchsize"):
        uf.train(task="spam", batchsize=3)  # type: ignore[call-arg]


@pytest.mark.full
def test_the_classifier_has_its_metrics_trained_or_loaded(inputs: dict[str, Any], tmp_path: Path) -> None:
    trained = uf.train(tmp_path / "run", **{**inputs, "epochs": 1.0})
    assert trained.metrics == json.loads((tmp_path / "run/metrics.json").read_text())
    loaded = uf.load(tmp_path / "run", device="cpu", precision="float32")
    assert loaded.metrics == trained.metrics
    texts = ["this plot is gorgeous", "the film is awful"]
    assert trained.predict(texts) == loaded.predict(texts)
    assert uf.load(tmp_path / "run").with_predictor(loaded.predictor).metrics == {}


@pytest.mark.full
def test_a_training_that_was_killed_after_its_last_checkpoint_trains_no_further(
    inputs: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped in the middle of an epoch, or early because dev accuracy did not rise."""
    for name, change in (("part", {"epochs": 1.5}), ("early", {"epochs": 6.0, "lr": 0.0, "patience": 1})):
        settings = {**inputs, **change}
        with monkeypatch.context() as patch:
            patch.setattr("unfooled.api.train.save", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                uf.train(tmp_path / name, **settings)
        first = json.loads((tmp_path / name / "metrics.json").read_text())["train"]
        again = uf.train(tmp_path / name, **settings).metrics["train"]
        assert (first["resumed"], again["resumed"]) == (False, True)
        assert again["steps"] == first["steps"]
