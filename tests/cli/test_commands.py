"""The commands as a user meets them: exit codes, JSON on stdout, messages without tracebacks."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from child_processes import wait_until
from commands import unfooled
from tiny_runs import write_encoder, write_reviews
from warm_processes import start_warm

COMMAND = [sys.executable, "-m", "unfooled"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli")
    config = folder / "train.yaml"
    config.write_text(
        f"data: {write_reviews(folder / 'reviews.csv')}\ntext_column: review\nlabel_column: stars\n"
        f"encoder: {write_encoder(folder / 'encoder')}\nlr: 3e-3\nepochs: 6\nbatch_size: 16\n"
        "defence: rsmi\nsettings: {sigma: 0.1}\n"
    )
    result = unfooled(
        "train", "--config", config, "--set", "masked_tokens=1", "--out", folder / "run", "--json"
    )
    assert result.returncode == 0, result.stderr.decode()
    answer = json.loads(result.stdout)
    assert answer["metrics"]["test"]["examples"] > 0
    saved = json.loads((folder / "run/unfooled.json").read_text())
    assert saved["defence"]["settings"]["sigma"] == 0.1
    assert saved["defence"]["settings"]["masked_tokens"] == 1
    return folder / "run"


def test_predict_answers_every_kind_of_text_without_a_traceback(run: Path) -> None:
    texts = [
        "this plot is gorgeous",
        "emoji 😀👩‍👩‍👧",
        "مرحبا عالم",
        "mixed עברית and 中文",
        "tab\tand\x07bell",
        "x" * 100_000,
    ]
    result = unfooled("predict", run, *texts, "--json")
    assert result.returncode == 0, result.stderr.decode()
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert [answer["text"] for answer in answers] == texts
    assert all(answer["label"] in ("up", "down") for answer in answers)
    assert answers[0]["votes"]
    assert answers[0]["forwards"] >= 3


def test_predict_refuses_empty_text_and_answers_the_rest(run: Path) -> None:
    result = unfooled("predict", run, "", "this plot is gorgeous", "--json")
    assert result.returncode == 1
    first, second = (json.loads(line) for line in result.stdout.splitlines())
    assert first["label"] is None
    assert "empty" in first["refused"]
    assert second["label"] in ("up", "down")


def test_predict_reads_standard_input_with_nul_and_broken_utf8(run: Path) -> None:
    result = unfooled("predict", run, "--json", stdin=b"fine\x00film\nbroken \xff\xfe bytes\n")
    assert result.returncode == 0, result.stderr.decode()
    assert len(result.stdout.splitlines()) == 2


def test_predict_shows_masked_words_votes_and_file_input(run: Path, tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("this plot is gorgeous\n")
    result = unfooled("predict", run, "--file", tmp_path / "texts.txt", "--set", "masking=gradient")
    shown = result.stdout.decode()
    assert result.returncode == 0
    assert "votes" in shown
    assert "[" in shown


def test_predict_names_the_classes_that_were_voted_for(run: Path) -> None:
    shown = unfooled("predict", run, "this plot is gorgeous", "--predictor", "vote", "--set", "votes=9")
    assert re.search(r"votes: down \d, up \d; 1\d forward passes", shown.stdout.decode())


def test_predict_writes_answers_beside_the_columns_of_the_file(run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(
        "id,text,answer\n7,a f\xeate is gorgeous,=1+1\n8,,no\n9,the plot is dull,\n", encoding="latin-1"
    )
    how = ("predict", run, "--file", tmp_path / "in.csv", "--encoding", "latin-1", "--text-column", "text")
    told = unfooled(*how, "--out", tmp_path / "out.csv")
    assert told.returncode == 1 and b"1 of 3 inputs were refused" in told.stderr
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == ["7", "8", "9"] and rows[0]["text"] == "a f\xeate is gorgeous"
    assert rows[0]["answer"] == "'=1+1" and rows[0]["predicted_answer"] in ("up", "down")
    assert "empty" in rows[1]["refused"] and float(rows[2]["score_up"]) >= 0
    assert unfooled(*how, "--out", tmp_path / "out.jsonl", "--json").returncode == 1
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line["predicted_answer"] or "" for line in lines] == [row["predicted_answer"] for row in rows]
    assert lines[0]["answer"] == "=1+1" and sum(sum(stage.values()) for stage in lines[0]["votes"]) > 0
    wrong = unfooled(*how, "--out", tmp_path / "out.docx")
    assert wrong.returncode == 2 and b".csv or .jsonl" in wrong.stderr
    assert sorted(one.name for one in tmp_path.iterdir()) == ["in.csv", "out.csv", "out.jsonl"]


def test_the_same_seed_gives_the_same_votes_and_predictor_can_be_changed(run: Path) -> None:
    first = unfooled("predict", run, "the film is bad", "--json", "--seed", "3").stdout
    assert first == unfooled("predict", run, "the film is bad", "--json", "--seed", "3").stdout
    voted = unfooled("predict", run, "the film is bad", "--json", "--predictor", "vote", "--set", "votes=9")
    assert sum(json.loads(voted.stdout)["votes"][0].values()) == 9


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["predict", "no/such/folder", "text"], 1, "no/such/folder"),
        (["predict", "RUN", "text", "--set", "sgma=1"], 2, "sigma"),
        (["predict", "RUN", "text", "--predictor", "twostep"], 2, "two-step"),
        (["predict", "RUN", "text", "--device", "cuda:99"], 1, "cuda:99"),
        (["predict", "RUN", "text", "--pair", "second"], 2, "single texts"),
        (["predict", "RUN", "--file", "missing.csv"], 1, "missing.csv"),
        (["train"], 2, "--task"),
        (["train", "--task", "movie-review"], 2, "movie-reviews"),
        (["train", "--data", "missing.csv"], 1, "missing.csv"),
        (["train", "--task", "movie-reviews", "--text-column", "x"], 2, "--text-column"),
        (["train", "--config", "missing.yaml"], 2, "missing.yaml"),
        (["train", "--task", "spam", "--set", "sigma"], 2, "name=value"),
        (["trian"], 2, "trian"),
        (["train", "--epochs", "many"], 2, "--epochs"),
        (["predict", "RUN", "--encoding", "klingon"], 2, "no encoding named 'klingon'"),
        (["train", "--data", "REVIEWS", "--encoder", "ENCODER", "--layers", "99"], 2, "number from 1 to 3"),
    ],
)
def test_wrong_use_gives_a_message_and_an_exit_code(
    run: Path, tmp_path: Path, arguments: list[str], code: int, said: str
) -> None:
    known = {"RUN": run, "REVIEWS": run.parent / "reviews.csv", "ENCODER": run.parent / "encoder"}
    filled = [str(known.get(argument, argument)) for argument in arguments]
    result = unfooled(*filled, cwd=tmp_path)
    message = result.stderr.decode()
    assert result.returncode == code, message
    assert said in " ".join(message.split())
    assert "Traceback" not in message
    assert result.stdout == b""
    assert not list(tmp_path.iterdir()), "something was left behind"


@pytest.mark.full
def test_process_of_its_own_answers_lines_as_they_arrive_and_ends_with_the_code(
    run: Path, tmp_path: Path
) -> None:
    """The other tests run the command in their own process; this one starts it as a shell does."""
    process = subprocess.Popen(
        [*COMMAND, "predict", str(run), "--json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None and process.stdout is not None
    for text in ("a fine film", "so dull"):
        process.stdin.write(f"{text}\n".encode())
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["text"] == text  # before the next line is written
    process.stdin.close()
    assert process.wait(30) == 0 and process.stdout.read() == b""
    refused = subprocess.run(
        [*COMMAND, "predict", "no/such/folder", "text"], capture_output=True, cwd=tmp_path, check=False
    )
    assert (refused.returncode, refused.stdout) == (1, b"")
    assert b"no/such/folder" in refused.stderr and b"Traceback" not in refused.stderr


def test_list_options_and_version_speak_json_and_text() -> None:
    assert unfooled("--version").stdout.startswith(b"unfooled ")
    defences = json.loads(unfooled("train", "--list-defences", "--json").stdout)["defences"]
    assert {"standard", "rsmi"} <= {defence["name"] for defence in defences}
    tasks = json.loads(unfooled("train", "--list-tasks", "--json").stdout)["tasks"]
    assert {"movie-reviews", "snli"} <= {task["name"] for task in tasks}
    assert b"movie-reviews" in unfooled("train", "--list-tasks").stdout


@pytest.mark.full
def test_interrupt_ends_without_traceback(run: Path, tmp_path: Path) -> None:
    config = run.parent / "train.yaml"
    longer = ["train", "--config", str(config), "--epochs", "500", "--out", str(tmp_path / "long")]
    process = start_warm(["-m", "unfooled", *longer])
    wait_until(process, (tmp_path / "long/checkpoints").exists)
    time.sleep(0.5)
    os.kill(process.pid, signal.SIGINT)
    _, message = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in message
    assert b"same command" in message


@pytest.mark.parametrize(
    ("kind", "pairs", "tried"),
    [
        ("text", False, '"your text"'),
        ("text", True, '"your text" --pair "its pair"'),
        ("question", False, '--question "…" --context "…"'),
        ("image", False, "image.png"),
    ],
)
def test_what_to_try_after_training_is_what_the_run_reads(
    kind: str, pairs: bool, tried: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from typer.testing import CliRunner

    from unfooled.cli.commands import app

    test = {"examples": 8, "accuracy": 0.75, "accuracy_interval": (0.4, 0.9)}
    trained = SimpleNamespace(
        metrics={"train": {"seconds": 1.0}, "test": test},
        model=SimpleNamespace(kind=kind),
        takes_pairs=pairs,
    )
    monkeypatch.setattr("unfooled.api.train.train_as", lambda *args, **more: trained)
    shown = CliRunner().invoke(app, ["train", "--task", "movie-reviews", "--out", str(tmp_path / "run")])
    assert shown.exit_code == 0, shown.output
    assert f"unfooled predict {tmp_path / 'run'} {tried}" in shown.output.replace("\n", "")
