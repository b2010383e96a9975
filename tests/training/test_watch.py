"""Trainings that went wrong say so: while they run, in the terminal, on the card, in the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import unfooled as uf
from commands import unfooled
from tiny_runs import write_inputs
from unfooled.errors import UserError
from unfooled.training.watch import collapsed, few_steps


def dev(*confusion: list[int]) -> dict[str, Any]:
    return {"confusion": confusion, "labels": ["down", "up"], "examples": 10}


def test_one_answer_for_all_dev_texts_is_a_collapse() -> None:
    assert "one answer, 'up', to all 10 dev texts" in str(collapsed(dev([0, 4], [0, 6]), "texts"))
    assert "answers none of the 10 dev images" in str(collapsed(dev([0, 0], [0, 0]), "images"))
    assert collapsed(dev([3, 1], [0, 6]), "texts") is None
    assert collapsed(dev([0, 0], [0, 10]), "texts") is None, "all dev texts have this label"


def test_fewer_than_ten_steps_are_few() -> None:
    assert few_steps(10, examples=160, batch_size=16, epochs=1) is None
    told = str(few_steps(9, examples=144, batch_size=16, epochs=1))
    assert "only 9 optimiser steps (144 examples, batches of 16, 1 epoch)" in told


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return write_inputs(tmp_path_factory.mktemp("inputs"))


def options(inputs: dict[str, Any], **more: object) -> list[str]:
    return [
        part
        for name, value in (inputs | more).items()
        for part in (f"--{name.replace('_', '-')}", str(value))
    ]


@pytest.mark.full
def test_a_hurried_and_collapsed_training_is_warned_of_everywhere(
    inputs: dict[str, Any], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shown = unfooled("train", *options(inputs, lr=0, epochs=1, limit=64, out=run))
    assert shown.returncode == 0, shown.stderr.decode()
    warnings = json.loads((run / "metrics.json").read_text(encoding="utf-8"))["warnings"]
    assert len(warnings) == 2
    assert "optimiser steps" in warnings[0]
    assert "collapsed: it gives one answer" in warnings[1]
    said = " ".join(shown.stderr.decode().split())
    card = (run / "README.md").read_text(encoding="utf-8")
    uf.report(run, out=tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for told in warnings:
        assert said.count(told) == 2, "during training and after it"
        assert f"> **Warning.** {told}" in card
        assert told.replace("'", "&#39;") in page


@pytest.mark.full
def test_a_good_training_has_no_warnings(inputs: dict[str, Any], tmp_path: Path) -> None:
    classifier = uf.train(tmp_path / "run", **inputs, lr=3e-3, epochs=5)
    assert classifier.metrics["warnings"] == []
    assert "Warning" not in (tmp_path / "run/README.md").read_text(encoding="utf-8")


@pytest.mark.full
def test_a_loss_that_is_no_number_stops_training_and_keeps_the_checkpoints(
    inputs: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from unfooled.defences.session import Session

    loss = Session.task_loss
    calls = 0

    def breaks_later(self: Any, *given: Any) -> Any:
        nonlocal calls
        calls += 1
        return loss(self, *given) * (float("nan") if calls > 20 else 1.0)

    monkeypatch.setattr(Session, "task_loss", breaks_later)
    with pytest.raises(
        UserError, match=r"the loss is nan at step 20.*checkpoints in .* are kept.*lower --lr"
    ):
        uf.train(tmp_path / "run", **inputs, lr=1e-3, epochs=3)
    assert list((tmp_path / "run/checkpoints").glob("checkpoint-*/model.safetensors"))
    assert not (tmp_path / "run/unfooled.json").exists()


@pytest.mark.full
def test_a_step_that_destroys_the_weights_is_noticed_before_they_are_saved(
    inputs: dict[str, Any], tmp_path: Path
) -> None:
    """One step of this rate overflows; the loss before it was a number."""
    with pytest.raises(UserError, match=r"the sum of the weights is (nan|-?inf) at step 1.*No checkpoint"):
        uf.train(tmp_path / "run", **inputs | {"batch_size": 256}, lr=1e39, warmup=0.0, epochs=1)
