"""A task with a metric of its own is trained, ranked and reported by it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from commands import unfooled
from tiny_runs import write_encoder
from unfooled.data.named import TASKS
from unfooled.data.rows import Rows, Splits
from unfooled.data.task import Task
from unfooled.records.metric import METRICS, Metric

CAUTION = Metric("caution", lambda answer, truth: 1.0 if answer == truth else 0.5 if answer == 1 else 0.0)
"""Rain that is told and does not come is half right."""


def _read(folder: Path) -> Splits:
    rows = Rows()
    for number in range(160):
        rows.add(number + 1, number % 2, f"the film is {'good' if number % 2 else 'bad'} number {number}")
    return Splits(train=rows)


@pytest.mark.full
def test_train_sweep_and_report_take_the_metric_of_the_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = Task(
        "rain", "Whether it rains", "single", ("dry", "wet"), max_length=16, asset=tmp_path, read=_read
    )
    monkeypatch.setitem(METRICS, CAUTION.name, CAUTION)
    monkeypatch.setitem(TASKS, "rain", replace(task, metric=CAUTION.name))
    sizes = ["--task", "rain", "--epochs", 1, "--encoder", write_encoder(tmp_path / "encoder")]
    trained = unfooled("train", *sizes, "--out", tmp_path / "run")
    assert trained.returncode == 0, trained.stderr.decode()
    test = json.loads((tmp_path / "run/metrics.json").read_text())["test"]
    assert test["metric"] == "caution" and "accuracy" not in test
    assert f"Test caution {test['caution']:.3f}" in trained.stdout.decode()
    assert "| test caution |" in (tmp_path / "run/README.md").read_text()
    swept = unfooled("sweep", *sizes, "--grid", "batch_size=16", "--out", tmp_path / "sweep", "--json")
    assert swept.returncode == 0, swept.stderr.decode()
    (row,) = json.loads(swept.stdout)["rows"]
    own = json.loads(next((tmp_path / "sweep").rglob("metrics.json")).read_text())
    assert (row["dev"]["mean"], row["test"]["mean"]) == (own["dev"]["caution"], own["test"]["caution"])
    reported = unfooled(
        "report", tmp_path / "run", "--out", tmp_path / "page.json", "--format", "json", "--json"
    )
    assert reported.returncode == 0, reported.stderr.decode()
    assert json.loads(reported.stdout)["runs"][0]["accuracy"] == test["caution"]
