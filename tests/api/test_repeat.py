"""Repeated evaluation: the same repeats whatever happens in between, and the statistics of them."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

import unfooled as uf
from child_processes import wait_until
from commands import command, unfooled
from journals import stored
from tiny_runs import write_inputs
from unfooled.api.repeat import repeat
from unfooled.data.inputs import Inputs
from unfooled.errors import UserError
from unfooled.predictors import Classifier, make_predictor
from unfooled.statistics.spread import histogram, repeat_statistics
from warm_processes import start_warm

NOISE = {"sigma": 1.0, "masked_tokens": 1, "first_votes": 2, "second_votes": 3}
SIZE: dict[str, Any] = {"repeats": 6, "limit": 20}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hardly trained and very noisy: its answers vary."""
    folder = tmp_path_factory.mktemp("repeat")
    uf.train(
        folder / "run",
        **write_inputs(folder),
        defence="rsmi",
        settings=NOISE,
        epochs=1.0,
        lr=1e-3,
        limit=48,
        limit_dev=8,
        limit_test=8,
    )
    return folder / "run"


@pytest.fixture(scope="module")
def measured(run: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return repeated(run, out=tmp_path_factory.mktemp("measured"), **SIZE)


def timeless(report: dict[str, Any]) -> dict[str, Any]:
    told = ("seconds_per_repeat", "result_set", "reuse")
    return {name: value for name, value in report.items() if name not in told}


def count_calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seeds that the classifier is asked to decide with from here on."""
    seeds: list[int] = []
    honest = Classifier.decide

    def counted(self: Classifier, encoded: Any, *, seed: int | None = 0) -> Any:
        seeds.append(int(seed or 0))
        return honest(self, encoded, seed=seed)

    monkeypatch.setattr(Classifier, "decide", counted)
    return seeds


def repeated(run: Path, **options: Any) -> dict[str, Any]:
    return repeat(run, **options).to_dict()


@pytest.mark.full
def test_repeats_are_the_deployed_predictors_answers_under_consecutive_seeds(
    run: Path, measured: dict[str, Any]
) -> None:
    from unfooled import data

    split = data.load_files(
        run.parent / "reviews.csv", text_column="review", label_column="stars", limit_test=SIZE["limit"]
    ).test
    classifier = uf.load(run, device="cpu")
    for number, accuracy in enumerate(measured["accuracies"]):
        answers = classifier.predict(split["text"], seed=number)
        right = [a.label == classifier.labels[g] for a, g in zip(answers, split["label"], strict=True)]
        assert accuracy == sum(right) / len(right)
    assert [one["row"] for one in measured["per_input"]] == list(split["row"])
    assert measured["source"] == "reviews (test)"


def test_statistics_follow_from_the_accuracies_and_counts(measured: dict[str, Any]) -> None:
    accuracies, counts = measured["accuracies"], measured["per_input"]
    assert len(accuracies) == SIZE["repeats"]
    assert len(counts) == SIZE["limit"] == measured["inputs"]
    assert measured["accuracy"]["mean"] == pytest.approx(sum(accuracies) / len(accuracies))
    assert measured["accuracy"]["min"] == min(accuracies) < max(accuracies) == measured["accuracy"]["max"]
    assert measured["accuracy"]["std"] > 0
    assert all(sum(one["answers"].values()) == SIZE["repeats"] for one in counts)
    assert measured["changed"] == sum(len(one["answers"]) > 1 for one in counts) > 0
    assert measured["agreement"] == pytest.approx(sum(one["agreement"] for one in counts) / len(counts))
    assert 0.5 <= measured["agreement"] < 1
    total = sum(one["correct"] for one in counts)
    assert total / (SIZE["limit"] * SIZE["repeats"]) == pytest.approx(measured["accuracy"]["mean"])
    assert measured["complete"] and measured["random"]


def test_the_same_measurement_twice_is_the_same(run: Path, measured: dict[str, Any], tmp_path: Path) -> None:
    assert timeless(repeated(run, out=tmp_path, **SIZE)) == timeless(measured)


def test_finished_repeats_are_kept_and_more_of_them_extend_the_journal(
    run: Path, measured: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds = count_calls(monkeypatch)
    repeated(run, out=tmp_path, repeats=4, limit=SIZE["limit"])
    report = repeated(run, out=tmp_path, **SIZE)
    assert seeds == [0, 1, 2, 3, 4, 5]
    assert timeless(report) == timeless(measured)
    again = repeated(run, out=tmp_path, **SIZE)
    assert timeless(again) == timeless(report) and again["reuse"] == {"from_journal": 6, "asked": 0}
    assert len(seeds) == 6


def test_other_seed_inputs_or_predictor_are_measured_anew(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured(**changes: Any) -> str:
        name: str = repeated(run, repeats=1, **{"limit": 8, **changes})["result_set"]["name"]
        return name

    assert measured() == "two-step"
    seeds = count_calls(monkeypatch)
    assert measured(seed=5) == "two-step-2"
    assert measured(limit=7) == "two-step"
    assert measured(predictor={"sigma": 0.5}) == "two-step-3"
    assert measured(predictor="sequential") == "sequential"
    assert measured(inputs=Inputs(split="dev")) == "two-step-4"
    assert measured(seed=5) == "two-step-2"
    assert seeds == [5, 0, 0, 0, 0]
    assert measured(limit=9) == "two-step"  # a larger limit of the first question


@pytest.mark.full
def test_killed_process_goes_on_and_ends_like_an_undisturbed_one(run: Path, tmp_path: Path) -> None:
    size = {"repeats": 60, "limit": 20}
    arguments = ["repeat", run, "--repeats", 60, "--limit", 20, "--device", "cpu", "--out", tmp_path / "a"]
    process = start_warm(["-m", "unfooled", *map(str, arguments)])
    journal = tmp_path / "a/journal.sqlite"
    wait_until(process, lambda: _repeats_in(journal) >= 3)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    kept = _repeats_in(journal)
    assert 3 <= kept < 60
    assert not (tmp_path / "a/repeat.json").exists()
    begun: list[int] = []
    resumed = repeated(
        run, out=tmp_path / "a", device="cpu", progress=lambda done, _: begun.append(done), **size
    )
    assert begun[0] == kept
    assert timeless(resumed) == timeless(repeated(run, out=tmp_path / "b", device="cpu", **size))


def _repeats_in(journal: Path) -> int:
    return len(stored(journal, "repeats"))


def test_interrupt_leaves_the_statistics_of_what_is_done(run: Path, tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        repeated(run, out=tmp_path, progress=stop, **SIZE)
    partial = json.loads((tmp_path / "repeat.json").read_text())
    assert partial["complete"] is False
    assert partial["repeats"] == 2


def test_deterministic_predictor_is_measured_once_and_said_not_to_vary(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seeds = count_calls(monkeypatch)
    arguments = ["repeat", run, "--predictor", "plain", "--repeats", 9, "--out", tmp_path]
    assert command(monkeypatch, *arguments) == 0
    assert "nothing varies" in capsys.readouterr().out
    assert seeds == [0]
    report = json.loads((tmp_path / "repeat.json").read_text())
    assert report["random"] is False and report["complete"] is True
    assert report["accuracies"] == [report["accuracy"]["mean"]] * 9
    assert report["accuracy"]["std"] == 0
    assert report["changed"] == 0


@pytest.mark.parametrize(
    ("name", "settings", "varies"),
    [
        ("plain", {}, False),
        ("vote", {"sigma": 0.2}, True),
        ("vote", {"sigma": 0.0, "masking": "gradient"}, False),
        ("vote", {"sigma": 0.0, "masking": "random"}, True),
        ("vote", {"sigma": 0.0, "masking": "random", "masked_tokens": 0}, False),
        ("two-step", {"sigma": 0.0}, True),
        ("two-step", {"sigma": 0.0, "masked_tokens": 2, "candidates": 2}, False),
        ("two-step", {"sigma": 0.0, "masking": "none"}, False),
        ("sequential", {"sigma": 0.1, "masking": "none"}, True),
    ],
)
def test_predictor_varies_if_it_draws_noise_or_masks(
    name: str, settings: dict[str, Any], varies: bool
) -> None:
    assert make_predictor(name, settings).randomised is varies


def test_command_shows_the_numbers_and_a_histogram(
    run: Path,
    measured: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["repeat", run, "--repeats", 6, "--limit", 20, "--out", tmp_path]
    assert command(monkeypatch, *arguments) == 0
    shown = capsys.readouterr().out
    assert f"{measured['accuracy']['mean']:.4f} ± {measured['accuracy']['std']:.4f}" in shown
    assert "█" in shown
    assert command(monkeypatch, *arguments, "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report == json.loads((tmp_path / "repeat.json").read_text())
    assert timeless(report) == timeless(measured)


@pytest.mark.parametrize("labels", [("up", "down"), ("1", "0"), ("up", "up")])
def test_every_row_of_a_labelled_file_is_used(run: Path, tmp_path: Path, labels: tuple[str, str]) -> None:
    file = tmp_path / "attacked.csv"
    file.write_text(f"text,label\nthe film is fine,{labels[0]}\na dull story,{labels[1]}\n")
    report = repeated(run, inputs=Inputs(data=str(file)), out=tmp_path, repeats=2)
    assert report["inputs"] == 2
    assert sorted(one["row"] for one in report["per_input"]) == [2, 3]
    expected = {"1": "up", "0": "down"}
    found = {one["row"]: one["label"] for one in report["per_input"]}
    assert found == {2 + i: expected.get(label, label) for i, label in enumerate(labels)}


def test_run_folder_takes_the_result_when_no_other_is_named(run: Path) -> None:
    repeated(run, repeats=1, limit=4)
    assert list(run.glob("repeats/*/repeat.json"))


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--repeats", "0"], 2, "--repeats must be at least 1"),
        (["--limit", "0"], 2, "--limit must be at least 1"),
        (["--split", "tset"], 2, "test, dev or train"),
        (["--task", "spam", "--data", "x.csv"], 2, "not both"),
        (["--text-column", "review"], 2, "Columns are for --data"),
        (["--task", "spma"], 2, "spam"),
        (["--data", "missing.csv"], 1, "missing.csv"),
        (["--predictor", "twostep"], 2, "two-step"),
        (["--set", "sgma=1"], 2, "sigma"),
        (["--device", "cuda:99"], 1, "cuda:99"),
    ],
)
def test_wrong_use_gives_a_message_and_an_exit_code(
    run: Path, tmp_path: Path, options: list[str], code: int, said: str
) -> None:
    shown = unfooled("repeat", run, "--out", tmp_path / "out", *options)
    assert (shown.returncode, shown.stdout) == (code, b"")
    assert said in shown.said
    assert not (tmp_path / "out").exists()


def test_row_with_another_label_is_refused_by_line_and_leaves_code_1(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other.csv").write_text("text,label\nfine,up\nodd,sideways\n")
    arguments = ["repeat", run, "--data", tmp_path / "other.csv", "--repeats", 1, "--out", tmp_path / "out"]
    assert command(monkeypatch, *arguments) == 1
    told = " ".join(capsys.readouterr().err.split())
    assert "line 3: unknown label 'sideways'" in told and "1 of 2 inputs were refused" in told
    report = json.loads((tmp_path / "out/repeat.json").read_text())
    assert report["inputs"] == 1 and [one["row"] for one in report["refused"]] == [3]


def test_damaged_journal_is_named_with_the_remedy(run: Path, tmp_path: Path) -> None:
    repeated(run, out=tmp_path, repeats=1)
    (tmp_path / "journal.sqlite").write_bytes(b"not a database" * 100)
    with pytest.raises(UserError, match=r"journal\.sqlite.*Choose another folder"):
        repeated(run, out=tmp_path, repeats=1)


def test_abstention_is_an_answer_of_its_own_and_never_correct() -> None:
    report = repeat_statistics([0, 1], [[0, -1], [0, 1], [1, -1], [0, -1]], ["down", "up"])
    assert report["accuracies"] == [0.5, 1.0, 0.0, 0.5]
    assert report["per_input"][1]["answers"] == {"(abstained)": 3, "up": 1}
    assert report["majority_accuracy"] == 0.5
    assert report["changed_share"] == 1.0
    assert report["agreement"] == 0.75


def test_histogram_counts_every_value_once() -> None:
    values = [number / 100 for number in range(37)]
    bins = histogram(values, 10)
    assert len(bins) == 10
    assert sum(count for _, _, count in bins) == 37
    assert (bins[0][0], bins[-1][1]) == (0.0, pytest.approx(0.36))
    assert histogram([0.5, 0.25, 0.5]) == [(0.25, 0.25, 1), (0.5, 0.5, 2)]
