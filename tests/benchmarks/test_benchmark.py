"""Benchmarks: what is run and kept, and what happens after a kill, Ctrl-C, a failure or a changed plan."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tiny_attacks import Swap
from tiny_plans import write_plan_inputs
from unfooled.api import attack as attack_verb
from unfooled.api import train as training
from unfooled.api.jobs import attack_job as attacking
from unfooled.attacks import RECIPES
from unfooled.benchmarks import cell_work as benchmark_run
from unfooled.benchmarks.plan_file import make_plan
from unfooled.benchmarks.run import Stopped, benchmark
from unfooled.benchmarks.state import time_left
from unfooled.errors import UsageError, UserError
from unfooled.predictors import Classifier

pytestmark = pytest.mark.usefixtures("swap_recipe")

HERE = Path(__file__).parent
STANDARD, RSMI = "reviews-standard-s0", "reviews-rsmi-s0"


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return write_plan_inputs(tmp_path_factory.mktemp("inputs"))


@pytest.fixture(scope="module")
def finished(plan: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A benchmark that is done; read only."""
    folder = tmp_path_factory.mktemp("benchmarks") / "tiny"
    assert benchmark(plan, folder)["counts"]["done"] == 8
    return folder


@pytest.fixture
def own(finished: Path, tmp_path: Path) -> Path:
    """A copy of it to spoil."""
    return Path(shutil.copytree(finished, tmp_path / "tiny"))


def state_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "benchmark.json").read_text(encoding="utf-8"))


def record(folder: Path, name: str) -> dict[str, Any]:
    (found,) = [one for one in state_of(folder)["cells"] if one["name"] == name]
    return found


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the cells that are run from here on."""
    ran: list[str] = []
    honest = benchmark_run.run_cell

    def run_cell(cell: Any, *arguments: Any, **options: Any) -> None:
        ran.append(cell.name)
        honest(cell, *arguments, **options)

    monkeypatch.setattr(benchmark_run, "run_cell", run_cell)
    return ran


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"attacks": [{"recipe": "antonym", "inputs": {"task": "spam"}}]},
            "reviews-standard-s0/attacks/antonym: The recipe antonym changes the meaning",
        ),
        ({"defences": ["bat-triplet"], "attacks": []}, "bat-triplet-s0: bat-triplet trains on antonyms"),
    ],
)
def test_changes_of_meaning_that_change_no_label_are_refused_before_anything_is_trained(
    change: dict[str, Any], told: str, plan: dict[str, Any], tmp_path: Path
) -> None:
    only = {key: plan[key] for key in ("name", "train", "tasks")}
    with pytest.raises(UsageError, match=told):
        benchmark(only | {"defences": ["standard"]} | change, tmp_path / "own")
    assert not (tmp_path / "own" / "runs").exists()


@pytest.mark.full
def test_every_cell_leaves_its_file_where_the_run_keeps_it(finished: Path) -> None:
    for name in (STANDARD, RSMI):
        run = finished / "runs" / name
        assert (run / "unfooled.json").is_file()
        assert read(run / "attacks/swap/attack.json")["complete"]
        (states,) = run.glob("representations/*/representations.json")
        assert read(states)["layers"][0] == "embeddings"
    assert read(finished / "runs" / RSMI / "certificates/words/certificate.json")["complete"]
    assert read(finished / "runs" / RSMI / "repeats/plan/repeat.json")["repeats"] == 2
    assert (finished / "report.html").stat().st_size > 1000
    state = state_of(finished)
    assert state["counts"] == {"done": 8, "failed": 0, "running": 0, "pending": 0}
    kinds = ["train"] * 2 + ["attack"] * 2 + ["certify", "repeat"] + ["representations"] * 2
    assert [one["kind"] for one in state["cells"]] == kinds
    assert all(one["seconds"] > 0 and one["message"] == "" for one in state["cells"])


@pytest.mark.full
def test_plan_is_kept_as_it_was_run(finished: Path, plan: dict[str, Any]) -> None:
    kept = yaml.safe_load((finished / "plan.yaml").read_text(encoding="utf-8"))
    assert make_plan(kept) == make_plan(plan)


def test_model_starts_from_the_run_it_names(finished: Path) -> None:
    config = yaml.safe_load((finished / "runs" / RSMI / "config.yaml").read_text())
    assert config["encoder"] == str(finished / "runs" / STANDARD)


def test_predictor_under_attack_is_the_plans_and_the_runs_own_elsewhere(finished: Path) -> None:
    run = finished / "runs" / RSMI
    assert read(run / "attacks/swap/attack.json")["victim"]["predictor"]["output"] == "mean-logit"
    assert read(run / "repeats/plan/repeat.json")["predictor"]["output"] == "vote"


def test_table_has_the_figures_of_the_files(finished: Path, plan: dict[str, Any]) -> None:
    rows = benchmark(plan, finished)["rows"]
    assert [(row["task"], row["defence"]) for row in rows] == [("reviews", "standard"), ("reviews", "rsmi")]
    run = finished / "runs" / RSMI
    test, summary = read(run / "metrics.json")["test"], read(run / "attacks/swap/attack.json")["summary"]
    row = rows[1]
    assert row["clean"]["accuracy"]["mean"] == test["accuracy"]
    assert row["clean"]["accuracy"]["interval"] == test["accuracy_interval"]
    for name in ("sacc", "racc", "racc_verified", "asr", "asr_verified"):
        figure = row["attacks"]["swap"][name]
        assert (figure["mean"], figure["interval"]) == (summary[name]["value"], summary[name]["interval"])
    assert rows[0]["attacks"]["swap"]["asr_verified"] is None, "a plain model draws nothing"
    assert row["certificates"]["words"]["inputs"] == 3
    assert row["repeated"]["repeats"] == 2 and rows[0]["repeated"] is None


@pytest.mark.full
def test_workers_of_a_benchmark_measure_what_one_process_measures(
    plan: dict[str, Any], finished: Path, tmp_path: Path
) -> None:
    shutil.copytree(finished, tmp_path / "tiny")
    attack = Path("runs") / RSMI / "attacks/swap"
    shutil.rmtree(tmp_path / "tiny" / attack)
    result = benchmark(plan, tmp_path / "tiny", workers=2)
    assert result["counts"]["done"] == 8
    mine, theirs = (
        read(place / attack / "attack.json")["summary"] for place in (tmp_path / "tiny", finished)
    )
    for name in ("counts", "asr", "asr_verified", "queries", "forwards"):
        assert mine[name] == theirs[name]


def test_finished_cells_are_not_run_again(
    finished: Path, plan: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = state_of(finished)["cells"]
    ran = counted(monkeypatch)
    result = benchmark(plan, finished)
    assert ran == []
    assert result["cells"] == before


def test_command_of_a_cell_repeats_it(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The recorded commands are taken as they stand; the journal shows that the work is the same."""
    import shlex

    from typer.testing import CliRunner

    from unfooled.cli.commands import app

    def refused(examples: Iterator[Any], *_: Any, **__: Any) -> Iterator[Any]:
        for example in examples:
            pytest.fail(f"another attack than the cell's: {example}")
        yield from ()

    monkeypatch.setattr(attacking, "run_attacks", refused)
    monkeypatch.setattr(Classifier, "decide", lambda *_, **__: pytest.fail("another repeat"))
    monkeypatch.setattr(
        "unfooled.certificates.certifier.sample_votes", lambda *_, **__: pytest.fail("other votes")
    )
    for one in state_of(finished)["cells"]:
        words = shlex.split(one["command"])
        if one["kind"] == "train":
            result = CliRunner().invoke(app, words[1:])
            assert "already holds a finished run" in str(result.exception)
        elif one["kind"] != "representations":
            result = CliRunner().invoke(app, [*words[1:], "--json"])
            assert result.exit_code == 0, (one["command"], result.output)


@pytest.mark.full
def test_killed_benchmark_goes_on_and_ends_as_an_undisturbed_one(
    plan: dict[str, Any], finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        """Nobody catches it, as nobody catches SIGKILL."""

    honest = attacking.run_attacks
    done = 0

    def killed(*arguments: Any, **options: Any) -> Iterator[Any]:
        nonlocal done
        for outcome in honest(*arguments, **{**options, "in_flight": 1}):
            if done == 3:
                raise Killed
            done += 1
            yield outcome

    monkeypatch.setattr(attacking, "run_attacks", killed)
    with pytest.raises(Killed):
        benchmark(plan, tmp_path / "tiny")
    name = f"{STANDARD}/attacks/swap"
    assert record(tmp_path / "tiny", name)["status"] == "running"
    assert record(tmp_path / "tiny", f"{RSMI}/attacks/swap")["status"] == "pending"

    asked: list[int] = []

    def watched(examples: Iterator[Any], *arguments: Any, **options: Any) -> Iterator[Any]:
        every = list(examples)
        asked.append(len(every))
        return honest(iter(every), *arguments, **options)

    monkeypatch.setattr(attacking, "run_attacks", watched)
    ran = counted(monkeypatch)
    result = benchmark(plan, tmp_path / "tiny")
    assert result["counts"]["done"] == 8
    assert STANDARD not in ran and ran[0] == name
    assert asked == [5, 8], "three of eight examples were there"
    for run in (STANDARD, RSMI):
        mine, theirs = (
            read(place / "runs" / run / "attacks/swap/attack.json")["summary"]
            for place in (tmp_path / "tiny", finished)
        )
        assert {key: mine[key] for key in ("counts", "asr", "racc", "queries")} == {
            key: theirs[key] for key in ("counts", "asr", "racc", "queries")
        }


@pytest.mark.full
def test_interrupt_leaves_a_page_and_goes_on_from_the_checkpoint(
    plan: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from unfooled.training.trainer import SessionTrainer

    plan = copy.deepcopy(plan)
    plan["train"]["epochs"] = 2
    honest, steps = SessionTrainer.training_step, 0

    def interrupted(*arguments: Any, **options: Any) -> Any:
        nonlocal steps
        steps += 1
        if steps == 11:  # six steps of the first model, three of the second one's first epoch
            raise KeyboardInterrupt
        return honest(*arguments, **options)

    monkeypatch.setattr(SessionTrainer, "training_step", interrupted)
    with pytest.raises(Stopped) as stopped:
        benchmark(plan, tmp_path / "tiny")
    result = stopped.value.result
    assert result["counts"] == {"done": 1, "failed": 0, "running": 0, "pending": 7}
    assert result["rows"][0]["clean"] is not None and result["rows"][1]["clean"] is None
    assert Path(result["report"]).is_file()
    assert "goes on" in record(tmp_path / "tiny", RSMI)["message"]
    monkeypatch.undo()
    monkeypatch.setitem(RECIPES, "swap", Swap)
    # The folder is spelled otherwise, and still the same.
    monkeypatch.chdir(tmp_path)
    assert benchmark(plan, "tiny")["counts"]["done"] == 8
    assert read(tmp_path / "tiny/runs" / RSMI / "metrics.json")["train"]["resumed"]


@pytest.mark.full
def test_failing_cell_stops_no_other_and_is_tried_again(
    plan: dict[str, Any], own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = copy.deepcopy(plan)
    plan["attacks"].append({"recipe": "swap", "name": "again", "limit": 4, "tools": {"validity": False}})
    honest = attack_verb.attack

    def failing(target: Any, *inputs: Any, **options: Any) -> Any:
        if target.run.name == STANDARD:
            raise RuntimeError("out of memory")
        return honest(target, *inputs, **options)

    monkeypatch.setattr(attack_verb, "attack", failing)
    result = benchmark(plan, own)
    assert result["counts"] == {"done": 8, "failed": 1, "running": 0, "pending": 1}
    failed = record(own, f"{STANDARD}/attacks/again")
    assert (failed["status"], failed["message"]) == ("failed", "RuntimeError: out of memory")
    assert "in failing" in failed["traceback"]
    assert record(own, f"{STANDARD}/representations")["message"] == f"waits for {STANDARD}/attacks/again"
    assert record(own, f"{RSMI}/representations")["status"] == "done"
    made = list((own / "runs" / RSMI).glob("representations/*/representations.json"))
    assert sorted(len(read(file)["drift"]) for file in made)[-1] <= 2

    monkeypatch.setattr(attack_verb, "attack", honest)
    ran = counted(monkeypatch)
    assert benchmark(plan, own)["counts"]["done"] == 10
    assert ran == [f"{STANDARD}/attacks/again", f"{STANDARD}/representations"]


def test_attack_that_breaks_on_every_input_is_a_failure(
    plan: dict[str, Any], own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from unfooled.attacks.victims.ours import ClassifierVictim

    def broken(*_: Any) -> Any:
        raise ValueError("boom")

    plan = {**plan, "attacks": [{**plan["attacks"][0], "name": "other"}]}
    monkeypatch.setattr(ClassifierVictim, "answers", broken)
    benchmark(plan, own)
    found = record(own, f"{STANDARD}/attacks/other")
    assert found["status"] == "failed"
    assert "broke on every input" in found["message"] and "boom" in found["message"]


@pytest.mark.full
def test_failed_training_holds_back_what_needs_it_and_may_be_changed(
    plan: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from unfooled.training.trainer import SessionTrainer

    plan = {**plan, "repeat": None, "representations": None, "certificates": []}

    def diverging(*_: Any, **__: Any) -> Any:
        raise FloatingPointError("the loss is not a number")

    with monkeypatch.context() as patch:
        patch.setattr(SessionTrainer, "training_step", diverging)
        result = benchmark(plan, tmp_path / "tiny")
    assert result["counts"] == {"done": 0, "failed": 1, "running": 0, "pending": 3}
    assert result["report"] is None
    assert record(tmp_path / "tiny", RSMI)["message"] == f"waits for {STANDARD}"

    plan = copy.deepcopy(plan)
    plan["train"]["lr"] = 1e-3
    assert benchmark(plan, tmp_path / "tiny")["counts"]["done"] == 4
    config = yaml.safe_load((tmp_path / "tiny/runs" / STANDARD / "config.yaml").read_text())
    assert config["lr"] == 1e-3


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda p: p["attacks"][0].update(limit=9), r"reviews-standard-s0/attacks/swap \(limit: 8 → 9\)"),
        (lambda p: p["defences"][1]["settings"].update(sigma=0.3), r"s0 \(settings.sigma: None → 0.3\)"),
        (lambda p: p["train"].update(epochs=2), r"epochs: 1.0 → 2.0"),
        (lambda p: p["attacks"][0].update(predictor={"votes": 3}), "predictor.votes: None → 3"),
        (lambda p: p["attacks"][0].update(precision="bf16"), "precision: None → bf16"),
        (lambda p: p["certificates"][0].update(alpha=0.01), "alpha: 0.001 → 0.01"),
        (lambda p: p["defences"][1].pop("attack_predictor"), "predictor.output: mean-logit → None"),
    ],
)
def test_changed_plan_is_refused_with_what_changed_and_nothing_is_touched(
    plan: dict[str, Any], finished: Path, change: Any, said: str
) -> None:
    plan = copy.deepcopy(plan)
    change(plan)
    before = {path: path.stat().st_mtime_ns for path in finished.rglob("*")}
    with pytest.raises(UsageError, match=said) as refused:
        benchmark(plan, finished)
    assert "choose another --out" in str(refused.value)
    assert {path: path.stat().st_mtime_ns for path in finished.rglob("*")} == before


def test_other_scale_is_refused_by_name(plan: dict[str, Any], finished: Path) -> None:
    plan = copy.deepcopy(plan)
    plan["attacks"][0]["limit"] = 80
    with pytest.raises(UsageError, match=r"run with --scale 1, now it is 0\.1"):
        benchmark(plan, finished, scale=0.1)


def test_page_has_the_names_of_the_plan_the_scale_and_the_published_figures(
    plan: dict[str, Any], own: Path
) -> None:
    figure = {"task": "reviews", "model": "Their LSTM", "defence": "rsmi", "attack": "swap", "racc": 12.3}
    plan = {**plan, "published": {"source": "Nobody 2000", "figures": [figure]}}
    page = Path(benchmark(plan, own, scale=0.5)["report"]).read_text(encoding="utf-8")
    assert "run at scale 0.5" in page
    (row,) = [line for line in page.split("<tr") if "Their LSTM" in line]
    assert "12.3" in row and ">rsmi<" in row, "ours stands beside theirs"


def test_new_cells_are_added_and_those_left_out_are_remembered(
    plan: dict[str, Any], own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    smaller = {**plan, "certificates": [], "representations": None}
    added = {"recipe": "swap", "name": "things", "limit": 2, "for": ["rsmi"], "tools": {"validity": False}}
    smaller["attacks"] = [*plan["attacks"], added]
    ran = counted(monkeypatch)
    benchmark(smaller, own)
    assert ran == [f"{RSMI}/attacks/things"]
    assert len(state_of(own)["left_out"]) == 3
    ran.clear()
    benchmark(plan, own)
    assert ran == []
    assert record(own, f"{RSMI}/certificates/words")["status"] == "done"


def test_search_runs_in_the_precision_of_the_plan(plan: dict[str, Any], own: Path) -> None:
    same = copy.deepcopy(plan)
    same["attacks"][0]["precision"] = "float32"  # the default is no other attack
    fast = {"recipe": "swap", "name": "fast", "limit": 2, "for": ["rsmi"], "precision": "bf16"}
    same["attacks"] = [*same["attacks"], fast]
    same["representations"] = None
    benchmark(same, own)
    kept = own / "runs" / RSMI / "attacks"
    rough = {name: read(kept / name / "attack.json")["victim"]["bf16"] for name in ("swap", "fast")}
    assert rough == {"swap": False, "fast": True}
    assert "--precision bf16" in record(own, f"{RSMI}/attacks/fast")["command"]


def test_runs_survive_the_loss_of_the_state_and_others_are_not_taken_for_them(
    plan: dict[str, Any], own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (own / "benchmark.json").unlink()
    other = copy.deepcopy(plan)
    other["train"]["batch_size"] = 8
    with pytest.raises(UsageError, match="batch_size: 16 → 8"):
        benchmark(other, own)
    monkeypatch.setattr(training, "train_as", lambda *_, **__: pytest.fail("trained again"))
    assert benchmark(plan, own)["counts"]["done"] == 8


@pytest.mark.full
def test_run_that_was_deleted_is_made_again(
    plan: dict[str, Any], own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(own / "runs" / RSMI)
    ran = counted(monkeypatch)
    assert benchmark(plan, own)["counts"]["done"] == 8
    assert [name for name in ran if not name.startswith(RSMI)] == [] and len(ran) == 5


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda p: p["defences"][1]["settings"].update(noise_layers=[7]), "reviews-rsmi-s0: .*7"),
        (lambda p: p["defences"][1]["attack_predictor"].update(outptu="x"), "swap: .*Did you mean 'output'"),
        (lambda p: p["attacks"][0].update(predictor={"outptu": 1}), "swap: .*outptu"),
        (lambda p: p["attacks"][0].update(precision="int8"), "precision must be auto, float32 or bf16"),
        (lambda p: p["certificates"][0].update(threat="l2"), "certificates/l2: .*after blocks"),
        (lambda p: p["tasks"][0].update(data="missing.csv"), r"reviews-standard-s0: .*missing\.csv"),
        (lambda p: p["tasks"][0].update(text_column="txt"), "reviews-standard-s0: .*txt"),
        (lambda p: p["train"].update(encoder=str(HERE)), "reviews-standard-s0: Cannot load"),
        (lambda p: p["train"].update(device="cuda:99"), "cuda:99"),
        (
            lambda p: p["defences"].append(
                {"name": "advaug", "settings": {"plain": "nowhere", "recipe": "swap"}}
            ),
            "reviews-advaug-s0: advaug: plain=nowhere: it is not a finished run",
        ),
    ],
)
def test_what_cannot_work_is_told_before_anything_is_made(
    plan: dict[str, Any], tmp_path: Path, change: Any, said: str
) -> None:
    plan = copy.deepcopy(plan)
    change(plan)
    for dry_run in (True, False):
        with pytest.raises(UserError, match=said):
            benchmark(plan, tmp_path / "tiny", dry_run=dry_run)
    assert not (tmp_path / "tiny").exists()


def test_folder_in_use_or_of_something_else_is_refused(
    plan: dict[str, Any], own: Path, tmp_path: Path
) -> None:
    from filelock import FileLock

    with FileLock(own / ".benchmark.lock"), pytest.raises(UserError, match="Another benchmark is running"):
        benchmark(plan, own)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.tex").write_text("")
    with pytest.raises(UsageError, match=r"not a benchmark and not empty \(thesis.tex\)"):
        benchmark(plan, tmp_path / "mine")
    with pytest.raises(UsageError, match="is a file"):
        benchmark(plan, tmp_path / "mine/thesis.tex")
    (own / "benchmark.json").write_text("{")
    with pytest.raises(UserError, match=r"benchmark\.json"):
        benchmark(plan, own)


@pytest.mark.full
def test_seeds_are_tabulated_as_mean_and_deviation(
    plan: dict[str, Any], own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = {**plan, "seeds": [0, 1], "certificates": [], "repeat": None, "representations": None}
    ran = counted(monkeypatch)
    row = benchmark(plan, own)["rows"][0]
    assert ran[:2] == ["reviews-standard-s1", "reviews-rsmi-s1"], "the cells of seed 0 stay"
    accuracies = [
        read(own / "runs" / f"reviews-standard-s{seed}" / "metrics.json")["test"]["accuracy"]
        for seed in (0, 1)
    ]
    figure = row["clean"]["accuracy"]
    assert figure["mean"] == pytest.approx(sum(accuracies) / 2)
    assert figure["std"] == pytest.approx(abs(accuracies[0] - accuracies[1]) / 2**0.5)
    assert figure["interval"] is None


def test_time_left_is_guessed_from_the_most_alike_finished_cells() -> None:
    def one(status: str, kind: str, what: str | None, defence: str, seconds: float = 0.0) -> dict[str, Any]:
        return {"status": status, "kind": kind, "what": what, "defence": defence, "seconds": seconds}

    records = [
        one("done", "attack", "pwws", "rsmi", 100),
        one("done", "attack", "pwws", "standard", 10),
        one("pending", "attack", "pwws", "rsmi"),
        one("pending", "attack", "bae", "standard"),
        one("failed", "attack", "bae", "rsmi"),
    ]
    assert time_left(records) == (110, True)
    assert time_left([*records, one("pending", "certify", "words", "rsmi")]) == (110, False)
