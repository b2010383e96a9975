"""Runs on images: trained, killed and resumed, loaded, asked, certified, verified and reported."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml

import unfooled as uf
from commands import unfooled
from journals import timeless
from unfooled.api.jobs.certify_job import TABLE
from unfooled.api.self_checks import CHECKS
from unfooled.api.verify import verify
from unfooled.certificates.sampling import Sampling
from unfooled.data.inputs import Inputs
from unfooled.errors import UsageError, UserError
from warm_processes import start_warm

pytest.importorskip("sklearn")
TRAIN: dict[str, Any] = {
    "task": "digits",
    "encoder": "small-cnn:width=8",
    "epochs": 5.0,
    "batch_size": 64,
    "lr": 3e-3,
    "limit": 600,
    "limit_dev": 60,
    "limit_test": 100,
    "device": "cpu",
}
FEW = Sampling(n=200, n0=20)
DEFENCES: dict[str, dict[str, Any]] = {
    "standard": {},
    "noise-augment": {"sigma": 0.3, "kind": "laplace"},
    "stability": {"sigma": 0.25},
    "static-mask": {"sigma": 0.25},
    "ars": {"sigma": 0.25, "channels": 4, "shrink": 2, "learn_sigma_1": True, "mask_lr": 3e-3},
}


KILL_AT_STEP_7 = """
import os, signal
import unfooled as uf
from unfooled.training.trainer import SessionTrainer

own = SessionTrainer.training_step
def training_step(self, *args, **kwargs):
    if self.state.global_step == 2:
        self._began -= 20
    if self.state.global_step == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return own(self, *args, **kwargs)
SessionTrainer.training_step = training_step
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run per defence."""
    folder = tmp_path_factory.mktemp("runs")
    for defence, settings in DEFENCES.items():
        uf.train(folder / defence, **TRAIN, defence=defence, settings=settings)
    return {defence: folder / defence for defence in DEFENCES}


def digits(split: str = "test") -> tuple[Any, list[int]]:
    from unfooled.data.images import load_images

    rows = getattr(load_images("digits"), split)
    return np.asarray(rows.images[:]), rows.labels.tolist()


@pytest.mark.full
@pytest.mark.parametrize("defence", DEFENCES)
def test_run_learns_and_answers_alike_after_loading(runs: dict[str, Path], defence: str) -> None:
    metrics = json.loads((runs[defence] / "metrics.json").read_text())
    assert metrics["test"]["accuracy"] > (0.85 if defence == "standard" else 0.6)
    loaded = uf.load(runs[defence], device="cpu")
    images, truth = digits()
    answers = loaded.predict(images[:100])  # as many as training measured
    right = [one.label == str(label) for one, label in zip(answers, truth[:100], strict=True)]
    assert np.mean(right) == pytest.approx(metrics["test"]["accuracy"])
    assert not list(runs[defence].glob("*.bin")) and (runs[defence] / "model.safetensors").exists()
    assert "image-classification" in (runs[defence] / "README.md").read_text()


@pytest.mark.full
def test_defaults_are_those_of_images(runs: dict[str, Path], tmp_path: Path) -> None:
    uf.train(tmp_path / "run", task="digits", epochs=0.1, limit=100, limit_dev=20, limit_test=20)
    config = yaml.safe_load((tmp_path / "run/config.yaml").read_text())
    assert (config["encoder"], config["batch_size"], config["lr"]) == ("small-cnn", 128, 1e-3)


@pytest.mark.full
def test_files_are_answered_and_bad_ones_refused(runs: dict[str, Path], tmp_path: Path) -> None:
    from PIL import Image

    images, _ = digits()
    Image.fromarray(images[0, :, :, 0]).save(tmp_path / "good.png")
    (tmp_path / "bad.png").write_bytes(b"no image")
    files = [tmp_path / "good.png", tmp_path / "bad.png", tmp_path / "none.png"]
    good, *bad = uf.predict(runs["standard"], files, device="cpu")
    assert good.label == uf.predict(runs["standard"], images[:1], device="cpu")[0].label
    assert "bad.png" in bad[0].refused and "none.png" in bad[1].refused
    shown = unfooled("predict", str(runs["standard"]), *map(str, files), "--json")
    assert shown.returncode == 1
    answers = [json.loads(line) for line in shown.stdout.splitlines()]
    assert [one["label"] for one in answers] == [good.label, None, None]
    shown = unfooled("predict", str(runs["standard"]), *map(str, files), "--out", str(tmp_path / "out.csv"))
    assert b"3 images (" in shown.stdout and b"text" not in shown.stdout + shown.stderr


@pytest.mark.full
@pytest.mark.parametrize(
    ("defence", "threat"),
    [
        ("stability", "l2"),
        ("stability", "linf"),
        ("noise-augment", "l1"),
        ("static-mask", "linf"),
        ("ars", None),
    ],
)
def test_test_rows_are_certified(
    runs: dict[str, Path], defence: str, threat: str | None, tmp_path: Path
) -> None:
    how: dict[str, Any] = {"threat": threat, "limit": 20, "sampling": FEW, "device": "cpu"}
    report = uf.certify(runs[defence], **how, out=tmp_path / "a")
    assert report.about["threat"] == (threat or "linf") and report.about["source"] == "digits (test)"
    assert report.summary["counts"]["certified"] >= 8 and len(report) == 20
    assert report[0].shown.startswith("image 8×8×1, ")
    assert not report.about["notes"], report.about["notes"]
    if defence == "ars":  # by worker processes, draw for draw
        uf.certify(runs[defence], **how, out=tmp_path / "b", workers=2)
        own, other = (timeless(tmp_path / name / "journal.sqlite", TABLE) for name in "ab")
        assert own == other


@pytest.mark.full
def test_training_rows_are_left_out_or_counted(runs: dict[str, Path]) -> None:
    with pytest.raises(UsageError, match="was trained on all"):
        uf.certify(runs["stability"], Inputs(split="train"), sampling=FEW, limit=3)
    images, _ = digits("train")
    report = uf.certify(runs["stability"], images[:3], sampling=FEW)
    assert report.about["rows"]["training"] == 3 and "training rows" in report.about["notes"][0]


@pytest.mark.full
def test_verify_checks_the_run_and_finds_other_weights(runs: dict[str, Path], tmp_path: Path) -> None:
    import shutil

    copy = shutil.copytree(runs["ars"], tmp_path / "copy")
    assert verify(copy, device="cpu").passed
    assert len(json.loads((copy / CHECKS).read_text())["predictions"]) == 6
    shutil.copy(runs["static-mask"] / "model.safetensors", copy / "model.safetensors")
    assert not verify(copy, device="cpu").passed
    with pytest.raises(UserError, match=r"model\.safetensors does not hold the weights of small-cnn"):
        uf.load(copy)


@pytest.mark.full
def test_report_shows_the_certificates(runs: dict[str, Path], tmp_path: Path) -> None:
    uf.certify(runs["ars"], limit=10, sampling=FEW, device="cpu")
    page = tmp_path / "report.html"
    uf.report(runs["ars"], out=page)
    text = page.read_text()
    assert "ℓ∞ of images" in text and "small-cnn" in text
    assert len(json.loads((runs["ars"] / "pictures.json").read_text())["pictures"]) == 4
    assert text.count("data:image/png;base64,") == 16 and not (runs["stability"] / "pictures.json").exists()


@pytest.mark.full
def test_plans_may_have_image_tasks(tmp_path: Path) -> None:
    from unfooled.benchmarks.run import benchmark

    train = {name: value for name, value in TRAIN.items() if name != "task"} | {"epochs": 1, "limit": 200}
    plan = {
        "name": "images",
        "tasks": ["digits"],
        "train": train,
        "defences": [{"name": "ars", "settings": {"channels": 2, "levels": 1}}],
        "certificates": [{"threat": "linf", "limit": 3, "n0": 8, "n": 40}],
    }
    assert benchmark(plan, tmp_path / "plan")["counts"]["done"] == 2
    plan["certificates"] = [{"threat": "l2", "limit": 3, "n0": 8, "n": 40, "for": ["ars"]}]
    with pytest.raises(UserError, match="less noise behind its mask"):
        benchmark(plan, tmp_path / "other")


@pytest.mark.full
def test_a_killed_training_ends_with_the_same_weights(tmp_path: Path) -> None:
    """With a mask network, BatchNorm and augmentation; killed within the second epoch."""
    given = {
        **TRAIN,
        "limit": 128,
        "epochs": 3.0,
        "batch_size": 32,
        "checkpoint_every": 2,
        "defence": "ars",
        "augment": ["crop"],
    }
    given["settings"] = {
        "channels": 2,
        "levels": 1,
        "sigma": 0.1,
        "mask_lr": 1e-3,
        "mask_schedule": "step:0.5:1",
    }
    given["schedule"] = "cosine"
    process = start_warm(["-c", f"{KILL_AT_STEP_7}\nuf.train('killed', **{given!r})"], cwd=tmp_path)
    assert process.wait(120) == -signal.SIGKILL
    assert [path.name for path in (tmp_path / "killed/checkpoints").iterdir()].count("checkpoint-6") == 1
    assert not (tmp_path / "killed/unfooled.json").exists()
    session = tmp_path / "killed/checkpoints/checkpoint-6/session.pt"
    before = torch.load(session, weights_only=True)["epoch"]["seconds"]
    again = uf.train(tmp_path / "killed", **given)
    assert again.metrics["train"]["resumed"]
    whole = uf.train(tmp_path / "whole", **given)
    assert before >= 20, "the killed process began 20 seconds earlier"
    assert before < again.metrics["train"]["seconds"] and whole.metrics["train"]["seconds"] < before
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("killed", "whole")]
    assert weights[0] == weights[1]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"max_length": 20}, "--max-length: for texts only"),
        ({"encoder": "minilm"}, "There is no architecture 'minilm'"),
        ({"augment": ["spin"]}, "--augment spin"),
        ({"defence": "rsmi"}, "'rsmi' does not serve images: it works on words"),
        ({"defence": "ars", "settings": {"sigma_1": 0.4, "learn_sigma_1": True}}, "learn_sigma_1, not both"),
    ],
)
def test_settings_that_do_not_fit_images_are_refused(
    given: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=message):
        uf.train(tmp_path / "run", task="digits", **given)
    assert not (tmp_path / "run").exists()


def test_settings_of_images_are_refused_for_texts(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label\na b,x\nc d,y\n")
    with pytest.raises(UsageError, match="--augment is for images"):
        uf.train(tmp_path / "run", data=str(tmp_path / "a.csv"), augment=["flip"])
    with pytest.raises(UsageError, match="needs a model of images"):
        uf.wrap(*_text_model(), defence="ars")


def _text_model() -> tuple[Any, Any]:
    from tiny_models import tiny_classifier

    model = tiny_classifier("bert")
    return model.module, model.tokenizer


@pytest.mark.full
def test_training_goes_on_from_the_weights_of_a_run(runs: dict[str, Path], tmp_path: Path) -> None:
    still = {**TRAIN, "epochs": 1.0, "lr": 1e-12}  # the weights hardly move
    images, labels = digits()
    before = uf.load(runs["standard"])
    after = uf.train(tmp_path / "on", **{**still, "encoder": str(runs["standard"])})
    new = uf.train(tmp_path / "new", **still)
    old, on, fresh = (
        np.mean([one.label == clf.labels[y] for one, y in zip(clf.predict(images), labels, strict=True)])
        for clf in (before, after, new)
    )
    assert old > 0.8 and on > 0.8 and fresh < 0.5


@pytest.mark.full
def test_a_folder_called_like_an_architecture_is_not_taken_for_it(
    runs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(runs["standard"], tmp_path / "small-cnn")
    monkeypatch.chdir(tmp_path)
    still = {**TRAIN, "epochs": 1.0, "lr": 1e-12, "encoder": "small-cnn"}
    assert uf.train("run", **still).metrics["test"]["accuracy"] < 0.5  # new weights
    assert uf.train("other", **{**still, "encoder": "./small-cnn"}).metrics["test"]["accuracy"] > 0.8


@pytest.mark.full
def test_training_on_from_a_run_of_other_images_is_refused(runs: dict[str, Path], tmp_path: Path) -> None:
    other = {**TRAIN, "task": "background(digits, size=12, places=2)", "encoder": str(runs["standard"])}
    with pytest.raises(UsageError, match=r"1 × 8 × 8, 10 classes; this data has images of 1 × 12 × 12"):
        uf.train(tmp_path / "run", **other)
    assert not (tmp_path / "run").exists()
