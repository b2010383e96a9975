"""Sweeps: the cells, what is reused and resumed, what is refused, and the numbers of the table."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from commands import command
from tiny_runs import write_inputs
from unfooled.api import train as training
from unfooled.benchmarks.cells import Cell, make_cells
from unfooled.benchmarks.grid import model_name, parse_grid
from unfooled.benchmarks.plan_file import make_plan
from unfooled.benchmarks.result_tables import rank
from unfooled.benchmarks.sweep import sweep, sweep_plan
from unfooled.errors import UsageError
from unfooled.statistics.spread import spread
from unfooled.storage.config import TrainConfig
from unfooled.training.trainer import SessionTrainer

GRID = {"sigma": [0.1, 0.4]}
SEEDS = (0, 1)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return write_inputs(tmp_path_factory.mktemp("inputs")) | {
        "defence": "rsmi",
        "settings": {"masked_tokens": 1, "first_votes": 3, "second_votes": 3},
        "epochs": 1.0,
        "limit": 48,
        "limit_dev": 16,
        "limit_test": 24,
    }


@pytest.fixture(scope="module")
def swept(base: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweeps") / "sweep"
    sweep(folder, grid=GRID, seeds=SEEDS, train=base)
    return folder


def table_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "sweep.json").read_text(encoding="utf-8"))


def without_training(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a finished cell was trained again")

    monkeypatch.setattr(training, "train_as", refuse)


def as_options(base: dict[str, Any]) -> list[str]:
    options = []
    for name, value in base.items():
        if name == "settings":
            options += [f"--set={key}={setting}" for key, setting in value.items()]
        else:
            options += [f"--{name.replace('_', '-')}", str(value)]
    return options


@pytest.mark.full
def test_every_cell_is_a_finished_run_in_a_readable_folder(swept: Path) -> None:
    names = {f"reviews-rsmi,sigma={sigma}-s{seed}" for sigma in (0.1, 0.4) for seed in SEEDS}
    assert {path.name for path in (swept / "runs").iterdir()} == names
    for name in names:
        saved = json.loads((swept / "runs" / name / "unfooled.json").read_text())
        assert f"sigma={saved['defence']['settings']['sigma']}" in name


def test_table_holds_the_numbers_of_the_runs_over_seeds_best_dev_first(swept: Path) -> None:
    table = table_of(swept)
    assert table["seeds"] == [0, 1]
    assert table["runs"] == {"trained": 4, "reused": 0, "failed": 0, "pending": 0}
    for row in table["rows"]:
        runs = [swept / "runs" / f"reviews-rsmi,sigma={row['settings']['sigma']}-s{seed}" for seed in SEEDS]
        metrics = [json.loads((run / "metrics.json").read_text()) for run in runs]
        for split in ("dev", "test"):
            first, second = (each[split]["accuracy"] for each in metrics)
            assert row[split]["mean"] == pytest.approx((first + second) / 2)
            assert row[split]["std"] == pytest.approx(abs(first - second) / 2**0.5)
            assert (row[split]["min"], row[split]["max"]) == (min(first, second), max(first, second))
        assert [run["test_interval"] for run in row["runs"]] == [
            each["test"]["accuracy_interval"] for each in metrics
        ]
        assert row["forwards_per_example"] >= 3
        assert row["train_seconds"] > 0
    devs = [row["dev"]["mean"] for row in table["rows"]]
    assert devs == sorted(devs, reverse=True)
    assert [row["best"] for row in table["rows"]] == [True, False]
    assert table["best"] == table["rows"][0]["settings"]
    assert "dev" in table["chosen_by"]


def test_csv_has_the_rows_of_the_json(swept: Path) -> None:
    with (swept / "sweep.csv").open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    rows = table_of(swept)["rows"]
    assert [float(line["sigma"]) for line in lines] == [row["settings"]["sigma"] for row in rows]
    assert [float(line["test_mean"]) for line in lines] == [row["test"]["mean"] for row in rows]
    assert [line["best"] for line in lines] == ["yes", ""]


def test_finished_cells_are_reused_and_give_the_same_numbers(
    swept: Path, base: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = table_of(swept)["rows"]
    without_training(monkeypatch)
    table = sweep(swept, grid=GRID, seeds=SEEDS, train=base)
    assert table["runs"]["reused"] == 4
    for now, then in zip(table["rows"], before, strict=True):
        assert now["dev"] == then["dev"]
        assert now["test"] == then["test"]
        assert now["train_seconds"] == then["train_seconds"]


def test_one_seed_has_an_interval_and_no_deviation(
    swept: Path, base: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    without_training(monkeypatch)
    for row in sweep(swept, grid=GRID, seeds=[1], train=base)["rows"]:
        assert row["test"]["std"] is None
        assert row["test_interval"][0] <= row["test"]["mean"] <= row["test_interval"][1]


def test_finished_cell_of_another_configuration_is_refused_not_reused(
    swept: Path, base: dict[str, Any]
) -> None:
    with pytest.raises(UsageError, match=r"another plan: .*epochs: 1.0 → 2.0, lr: None → 0.0001"):
        sweep(swept, grid=GRID, seeds=SEEDS, train={**base, "epochs": 2.0, "lr": 1e-4})


@pytest.mark.full
def test_interrupted_sweep_leaves_a_table_and_goes_on_from_the_checkpoint(
    base: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = {**base, "defence": "standard", "settings": {}, "epochs": 2.0}
    steps = 0
    honest = SessionTrainer.training_step

    def interrupted(*arguments: Any, **options: Any) -> Any:
        nonlocal steps
        steps += 1
        if steps == 11:  # 6 steps for the first cell, 3 for the second one's first epoch
            raise KeyboardInterrupt
        return honest(*arguments, **options)

    monkeypatch.setattr(SessionTrainer, "training_step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sweep(tmp_path / "out", grid={"lr": [1e-3, 2e-3]}, train=base)
    partial = table_of(tmp_path / "out")
    assert partial["runs"] == {"trained": 1, "reused": 0, "failed": 0, "pending": 1}
    assert [row["status"] for row in partial["rows"]] == ["finished", "pending"]
    monkeypatch.undo()
    table = sweep(tmp_path / "out", grid={"lr": [1e-3, 2e-3]}, train=base)
    assert table["runs"] == {"trained": 1, "reused": 1, "failed": 0, "pending": 0}
    resumed = {row["settings"]["lr"]: row["runs"][0]["resumed"] for row in table["rows"]}
    assert resumed == {1e-3: False, 2e-3: True}


@pytest.mark.full
def test_failed_cell_is_recorded_the_others_go_on_and_it_is_tried_again(
    base: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    honest = training.train_as

    def failing(config: TrainConfig, *where: Any, **how: Any) -> Any:
        if config.settings["sigma"] == 0.1:
            raise RuntimeError("out of memory")
        return honest(config, *where, **how)

    arguments = ["sweep", *as_options(base), "--grid", "sigma=0.1,0.4", "--out", tmp_path / "out", "--json"]
    monkeypatch.setattr(training, "train_as", failing)
    assert command(monkeypatch, *arguments) == 1
    table = json.loads(capsys.readouterr().out)
    assert table["runs"]["failed"] == 1
    assert table["best"] == {"sigma": 0.4}
    failed = table["rows"][-1]
    assert failed["settings"] == {"sigma": 0.1}
    assert failed["runs"][0]["error"] == "RuntimeError: out of memory"
    assert "out of memory" in (tmp_path / "out/sweep.csv").read_text()

    monkeypatch.setattr(training, "train_as", honest)
    assert command(monkeypatch, *arguments) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == {
        "trained": 1,
        "reused": 1,
        "failed": 0,
        "pending": 0,
    }


def test_command_prints_the_table_and_says_that_dev_chooses(
    swept: Path, base: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    without_training(monkeypatch)
    arguments = ["sweep", *as_options(base), "--grid", "sigma=0.1,0.4", "--seeds", "0,1", "--out", swept]
    assert command(monkeypatch, *arguments) == 0
    shown = capsys.readouterr().out
    header, best = shown.splitlines()[:2]
    assert header.split()[0] == "sigma"
    assert best.startswith("best")
    assert "±" in best
    assert "test accuracy is reported only" in shown


def test_yaml_may_hold_the_grid_and_words_after_the_option_add_to_it(
    swept: Path,
    base: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    import yaml

    without_training(monkeypatch)
    config = tmp_path / "sweep.yaml"
    config.write_text(yaml.safe_dump({**base, "grid": {"sigma": [0.4]}, "seeds": [0], "out": str(swept)}))
    assert command(monkeypatch, "sweep", "--config", config, "--json") == 0
    assert [row["settings"] for row in json.loads(capsys.readouterr().out)["rows"]] == [{"sigma": 0.4}]
    assert command(monkeypatch, "sweep", "sigma=0.1", "--config", config, "--json") == 0
    assert [row["settings"] for row in json.loads(capsys.readouterr().out)["rows"]] == [{"sigma": 0.1}]


@pytest.mark.parametrize(
    ("grid", "said"),
    [
        (["sgma=0.1"], "Did you mean 'sigma'"),
        (["defence=rsmi+flooding", "lvel=0.1"], "Did you mean 'level'"),
        (["sigma=0.1,-1"], "sigma must be at least 0"),
        (["sigma=low,high"], "sigma must be a number"),
        (["sigma"], "name=values"),
        (["sigma=[0.1"], "cannot be read"),
        (["sigma=0.1", "sigma=0.2"], "given twice"),
        (["sigma=0.1,0.10"], "comes up twice"),
        (["epochs=0"], "epochs must be at least"),
        (["seed=0,1"], "--seeds"),
        (["data=other.csv"], "cannot vary"),
        (["defence=rsmi,rsmii"], "no defence 'rsmii'"),
        (["noise_layers=[0,1],[2,9]"], "noise_layers=.2,9.-s0: "),
        (["masked_tokens=1,5", "candidates=2"], "M must not exceed N"),
        ([], "nothing to vary"),
    ],
)
def test_bad_grid_is_refused_before_anything_is_trained_or_written(
    base: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, grid: list[str], said: str
) -> None:
    without_training(monkeypatch)
    with pytest.raises(UsageError, match=said):
        sweep(tmp_path / "out", grid=parse_grid(grid), train=base)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--grid", "sigma=0.1", "--set", "sigma=0.2"], "both fixed and in the grid"),
        (["--grid", "epochs=1,2"], "both fixed and in the grid"),
        (["--grid", "sigma=0.1", "--seeds", "one"], "--seeds"),
        (["--grid", "sigma=0.1", "--seeds", "1,1"], "--seeds"),
        (["--grid", "sigma=0.1", "--config", "missing.yaml"], "missing.yaml"),
    ],
)
def test_wrong_options_leave_with_code_2_and_a_message(
    base: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    said: str,
) -> None:
    assert command(monkeypatch, "sweep", *as_options(base), "--out", tmp_path / "out", *options) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""
    assert not (tmp_path / "out").exists()


def test_grid_reads_lists_numbers_and_words() -> None:
    grid = parse_grid(["noise_layers=[0,2,4],[3,4,5]", "lr=1e-5,0.001", "output=vote,mean-logit"])
    assert grid["noise_layers"] == [[0, 2, 4], [3, 4, 5]]
    assert grid["output"] == ["vote", "mean-logit"]
    plan = sweep_plan(grid, [0], {"task": "movie-reviews", "defence": "rsmi"})
    cells = make_cells(plan, Path("out"))
    assert len(cells) == 8
    name = "movie-reviews-rsmi,noise_layers=[0,2,4],lr=1e-05,output=vote-s0"
    assert cells[0].run == Path("out/runs") / name
    assert cells[0].config.lr == 1e-5
    assert cells[0].config.settings == {"noise_layers": [0, 2, 4], "output": "vote"}


def test_name_of_both_means_the_defence_and_train_prefix_the_configuration() -> None:
    base = {"task": "movie-reviews", "defence": "rsmi"}
    (cell,) = make_cells(sweep_plan({"warmup": [0.5], "train.warmup": [0.25]}, [0], base), Path("out"))
    assert cell.config.settings == {"warmup": 0.5}
    assert cell.config.warmup == 0.25


def test_a_grid_of_a_combination_means_the_part_that_has_the_setting() -> None:
    base = {"task": "movie-reviews", "defence": "freelb+flooding", "settings": {"level": 0.3}}
    grid = {"warmup": [0, 0.25], "flooding.level": [0.2], "train.warmup": [0.125]}
    with pytest.raises(UsageError, match=r"two of these names mean one setting: .*level"):
        make_cells(sweep_plan(grid, [0], base), Path("out"))
    del grid["flooding.level"]
    cells = make_cells(sweep_plan(grid, [0], base), Path("out"))
    assert [cell.config.settings for cell in cells] == [
        {"flooding.level": 0.3, "freelb.warmup": 0.0},
        {"flooding.level": 0.3, "freelb.warmup": 0.25},
    ]
    assert {cell.config.warmup for cell in cells} == {0.125}
    assert cells[1].grid == {"warmup": 0.25, "train.warmup": 0.125}
    base = {"task": "movie-reviews", "defence": "freelb+bat-triplet"}
    with pytest.raises(UsageError, match=r"freelb\.warmup or bat-triplet\.warmup"):
        make_cells(sweep_plan({"warmup": [0, 0.25]}, [0], base), Path("out"))


def test_folder_names_stay_unique_when_values_cannot_be_spelled() -> None:
    names = {model_name("rsmi", {"encoder": value}) for value in ("a/b", "a b", "a-b", "x" * 300, "x" * 301)}
    assert len(names) == 5
    assert all("/" not in name and len(name) < 200 for name in names)
    assert model_name("rsmi", {"sigma": 0.1234567}) != model_name("rsmi", {"sigma": 0.1234568})


def test_row_that_lacks_a_seed_never_beats_a_complete_one(tmp_path: Path) -> None:
    base = {"task": "movie-reviews", "defence": "rsmi"}
    cells = make_cells(sweep_plan({"sigma": [0.1, 0.2]}, [0, 1], base), tmp_path)
    records = {cell.name: {"status": "done", "message": ""} for cell in cells}
    for cell, accuracy in zip(cells, (0.9, 0.8, None, 0.8), strict=True):
        if accuracy is None:
            records[cell.name] = {"status": "failed", "message": "no"}
        else:
            write_metrics(cell, accuracy)
    table = rank(cells, records)
    assert table["best"] == {"sigma": 0.2}
    assert [row["status"] for row in table["rows"]] == ["finished", "incomplete"]
    failed = {name: {"status": "failed", "message": "no"} for name in records}
    assert rank(cells, failed)["best"] is None


def test_the_defence_may_be_part_of_the_grid() -> None:
    base = {"task": "movie-reviews", "defence": "rsmi"}
    cells = make_cells(sweep_plan({"defence": ["noise-augment", "stability"]}, [0], base), Path("out"))
    assert [cell.config.defence for cell in cells] == ["noise-augment", "stability"]
    assert [cell.grid for cell in cells] == [{"defence": "noise-augment"}, {"defence": "stability"}]


def test_a_grid_of_a_plan_is_attacked_and_ranked_like_any_model() -> None:
    plan = make_plan(
        {
            "name": "trial",
            "tasks": ["movie-reviews"],
            "defences": [
                "standard",
                {"name": "rsmi", "start_from": "standard", "grid": {"sigma": [0.1, 0.2]}},
            ],
            "attacks": [{"recipe": "pwws", "for": ["rsmi"]}],
        }
    )
    cells = make_cells(plan, Path("out"))
    assert [cell.name for cell in cells if cell.kind == "attack"] == [
        f"movie-reviews-rsmi,sigma={sigma}-s0/attacks/pwws" for sigma in (0.1, 0.2)
    ]
    assert all(cell.needs == ("movie-reviews-standard-s0",) for cell in cells[1:3])
    assert make_plan(plan.to_dict()) == plan
    with pytest.raises(UsageError, match="rsmi has a grid"):
        make_plan({**plan.to_dict(), "defences": [{"name": "rsmi", "grid": {"sigma": [1]}},
            {"name": "late", "defence": "rsmi", "start_from": "rsmi"}]})  # fmt: skip


def test_spread_gives_the_statistics_of_table_5() -> None:
    """RSMI, RoBERTa-base on IMDb: 92.11 ± 0.30 (max 92.40, min 91.80) and 71.00 ± 2.10 (73.40, 69.50)."""
    clean, robust = spread([92.40, 91.80, 92.13]), spread([73.40, 69.50, 70.10])
    assert (round(clean["mean"], 2), round(clean["std"], 2)) == (92.11, 0.30)
    assert (round(robust["mean"], 2), round(robust["std"], 2)) == (71.00, 2.10)
    assert (robust["max"], robust["min"], robust["median"], robust["n"]) == (73.40, 69.50, 70.10, 3)


def write_metrics(cell: Cell, accuracy: float) -> None:
    cell.run.mkdir(parents=True)
    found = {"accuracy": accuracy, "accuracy_interval": [accuracy - 0.1, accuracy + 0.1], "examples": 10}
    metrics = {
        "dev": found,
        "test": found | {"forwards_per_example": 1.0},
        "train": {"seconds": 1.0, "resumed": False},
    }
    (cell.run / "metrics.json").write_text(json.dumps(metrics))
