"""``unfooled attack`` as a user meets it: numbers, changes, tables, files, and messages for wrong use."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import get_args

import pytest
from rich.console import Console

from commands import command, unfooled
from tiny_attacks import Peek, Stubborn, Swap, write_examples
from tiny_runs import GOOD
from unfooled.api.jobs.attack_job import Progress, read_attack
from unfooled.attacks import IMAGE_RECIPES, QUESTION_RECIPES, RECIPES
from unfooled.cli.options.attack_options import RecipeSettings
from unfooled.cli.show import attack_show
from unfooled.cli.show.attack_progress import attack_progress
from unfooled.data import Task
from unfooled.data.named import TASKS
from unfooled.data.rows import Rows, Splits
from unfooled.records.outcome import Outcome
from unfooled.words.document import Change

VICTIM = f"""
GOOD = {GOOD}

def scores(texts):
    found = []
    for text in texts:
        words = (text if isinstance(text, str) else " ".join(text)).lower().split()
        if "explode" in words:
            raise ValueError("boom")
        up = 0.9 if any(word in GOOD for word in words) else 0.3
        found.append([1 - up, up])
    return found

def stopped(texts):
    raise KeyboardInterrupt
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a victim, examples, and recipes that need no lexicon."""
    (tmp_path / "victim.py").write_text(VICTIM)
    write_examples(tmp_path / "examples.csv", 30)
    monkeypatch.chdir(tmp_path)
    for recipe in (Swap, Peek, Stubborn):
        monkeypatch.setitem(RECIPES, recipe.name, recipe)
    return tmp_path


BASE = ["attack", "victim.py:scores", "--labels", "down,up", "--data", "examples.csv", "--no-validity"]


def test_numbers_changes_and_files_of_one_attack(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [*BASE, "--recipe", "swap", "--show", 2, "--out", "out", "--export", "results.csv"]
    assert command(monkeypatch, *arguments) == 0
    captured = capsys.readouterr()
    report = read_attack("out")
    asr = report.summary["asr"]
    assert f"{asr['value']:.3f}  (95 % interval {asr['interval'][0]:.3f}" in captured.out
    assert "SAcc" in captured.out and "RAcc" in captured.out and "AvgQ" in captured.out
    assert "re-verified" not in captured.out
    assert captured.out.count("[-") >= 2 and "{+thing+}" in captured.out
    assert "\x1b" not in captured.out
    assert "Saved in out" in captured.err and "ASR" in captured.err
    with (folder / "results.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 30
    saved = json.loads((folder / "out/attack.json").read_text())
    assert saved["command"].startswith("unfooled attack victim.py:scores --labels down,up")
    assert (folder / "out/journal.sqlite").is_file()


def test_inputs_on_which_nothing_could_be_tried_are_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    attacked = [*BASE, "--recipe", "deepwordbug", "--limit", 8]
    assert command(monkeypatch, *attacked) == 0
    assert "nothing was tried" not in capsys.readouterr().out
    assert command(monkeypatch, *attacked, "--set", "max_distance=0") == 0
    failed = read_attack("attacks/victim.py-scores/deepwordbug-2").summary["counts"]["failed"]
    assert failed > 0
    assert f"on {failed} inputs the constraints rejected every candidate" in capsys.readouterr().out


def test_the_example_in_the_help_of_set_is_a_setting() -> None:
    (option,) = (one for one in get_args(RecipeSettings) if hasattr(one, "help"))
    name = option.help.split("--set ")[1].split("=")[0]
    assert any(name in {field.name for field in fields(recipe)} for recipe in RECIPES.values())


def test_json_is_what_the_report_file_holds(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(monkeypatch, *BASE, "--recipe", "swap", "--limit", 8, "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((folder / "attacks/victim.py-scores/swap/attack.json").read_text())
    assert printed["summary"]["examples"] == 8
    assert printed["labels"] == ["down", "up"]


def test_several_recipes_make_a_table_and_share_an_export(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    several = [*BASE, "--recipe", "swap,stubborn", "--out", "out", "--limit", 10]
    assert command(monkeypatch, *several, "--set", "replacement=stuff", "--export", "all.jsonl") == 0
    shown = capsys.readouterr().out
    assert "stubborn (obstinate)" in shown
    assert "answer unchanged" in shown and "reacted to the change of meaning" in shown
    lines = [json.loads(line) for line in (folder / "all.jsonl").read_text().splitlines()]
    assert [line["recipe"] for line in lines] == ["swap"] * 10 + ["stubborn"] * 10
    assert {pair[1] for line in lines for pair in line["changes"]} == {"stuff"}
    assert (folder / "out/swap/attack.json").is_file() and (folder / "out/stubborn/attack.json").is_file()
    assert command(monkeypatch, *several, "--set", "replacement=stuff", "--json") == 0
    attacks = json.loads(capsys.readouterr().out)["attacks"]
    assert [one["recipe"]["name"] for one in attacks] == ["swap", "stubborn"]


def test_all_leaves_out_what_needs_more_than_answers(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    few = {name: RECIPES[name] for name in ("swap", "peek", "stubborn")}
    monkeypatch.setattr(RECIPES, "_own", few)  # entry by entry they would come back in another order
    assert command(monkeypatch, *BASE, "--recipe", "all", "--limit", 4, "--json") == 0
    captured = capsys.readouterr()
    names = [one["recipe"]["name"] for one in json.loads(captured.out)["attacks"]]
    assert names == ["swap", "stubborn"]
    assert "Left out: peek needs the victim's gradients" in " ".join(captured.err.split())


def test_where_the_meaning_decides_no_label_obstinate_recipes_are_refused_or_left_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    topics = Task(
        "topics",
        "",
        "single",
        ("down", "up"),
        max_length=16,
        meaning_decides=False,
        asset=folder,
        read=lambda _: Splits(Rows([f"a fine film {n}" for n in range(40)], [0, 1] * 20, list(range(40)))),
    )
    monkeypatch.setitem(TASKS, "topics", topics)
    monkeypatch.setattr(RECIPES, "_own", {name: RECIPES[name] for name in ("swap", "stubborn")})
    of_topics = [*BASE[:4], "--task", "topics", "--no-validity", "--limit", 4]
    assert command(monkeypatch, *of_topics, "--recipe", "stubborn") == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "the task topics says that the opposite meaning keeps its label" in told
    assert command(monkeypatch, *of_topics, "--recipe", "all", "--json") == 0
    assert "Left out: The recipe stubborn changes the meaning" in " ".join(capsys.readouterr().err.split())
    monkeypatch.setitem(TASKS, "topics", replace(topics, meaning_decides=None))
    assert command(monkeypatch, *of_topics, "--recipe", "stubborn") == 0


def test_list_shows_every_recipe_with_its_paper_and_settings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(monkeypatch, "attack", "--list") == 0
    shown = capsys.readouterr().out
    assert command(monkeypatch, "attack", "--list", "--json") == 0
    listed = json.loads(capsys.readouterr().out)["recipes"]
    kinds = {"text": RECIPES, "question": QUESTION_RECIPES, "image": IMAGE_RECIPES}
    told = [(one["name"], one["reads"]) for one in listed]
    assert told == [(name, kind) for kind, own in kinds.items() for name in own]
    for one in listed:
        assert one["name"] in shown and one["paper"] in shown
        assert one["goal"] in ("fickle", "obstinate")
        assert all(setting["name"] in shown for setting in one["settings"])


def test_pairs_are_attacked_in_the_chosen_sentence(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "pairs.csv").write_text(
        "premise,hypothesis,label\na fine day,so witty,up\na dull day,a bore,down\n"
    )
    arguments = [*BASE[:5], "pairs.csv", "--no-validity", "--recipe", "swap", "--out", "out"]
    assert command(monkeypatch, *arguments, "--sentence", "first", "--protect", "DAY") == 0
    for outcome in read_attack("out").outcomes:
        assert len(outcome.original) == 2
        assert {change.which for change in outcome.changes} <= {0}
        assert "day" not in {change.before for change in outcome.changes}


def test_refused_and_broken_rows_are_told_and_the_rest_is_done(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = folder / "some.csv"
    file.write_text("text,label\nso fine,up\nso dull,sideways\nwill explode,down\n")
    arguments = [*BASE[:5], "some.csv", "--no-validity", "--recipe", "swap"]
    assert command(monkeypatch, *arguments) == 1
    captured = capsys.readouterr()
    assert "1 refused; 1 ended in an error" in captured.out
    assert "unknown label 'sideways'" in captured.err and "ValueError: boom" in captured.err
    file.write_text("text,label\nwill explode,down\nexplode too,down\n")
    assert command(monkeypatch, *arguments) == 1


def test_interrupt_leaves_code_130(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["attack", "victim.py:stopped", *BASE[2:], "--recipe", "swap"]
    assert command(monkeypatch, *arguments) == 130


@pytest.mark.parametrize("more", [[], ["--json"]], ids=["table", "json"])
def test_file_whose_name_is_no_utf8_is_attacked_and_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    name, out = (os.fsdecode(raw) for raw in (b"caf\xe9.csv", b"r\xe9sultat"))
    (folder / "examples.csv").rename(folder / name)
    assert (
        command(monkeypatch, *BASE[:5], name, "--no-validity", "--recipe", "swap", "--out", out, *more) == 0
    )
    assert "udce9.csv" in capsys.readouterr().out
    report = read_attack(out)
    assert report.about["source"] == "caf\\udce9.csv" and "caf" in report.about["command"]


def test_inputs_that_are_all_refused_are_a_failure(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "numbers.csv").write_text("text,label\nso fine,2\nso dull,3\n")
    arguments = ["attack", "victim.py:scores", "--data", "numbers.csv", "--no-validity", "--recipe", "swap"]
    assert command(monkeypatch, *arguments, "--out", "out") == 1
    assert read_attack("out").summary["counts"]["refused"] == 2


def test_password_in_an_address_or_header_is_not_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from unfooled.cli.options.victim_options import command_without_secrets

    address = "https://me:secret@example.org/x?key=secret"
    for option in ("headers={Auth: secret}", " headers ={Auth:\n secret}", 'extra={"api_key": "secret"}'):
        for words in (["--victim-set", option], [f"--victim-set={option}"]):
            monkeypatch.setattr(sys, "argv", ["unfooled", "attack", address, *words, "--seed", "1"])
            recorded = command_without_secrets(address, "https://example.org/x")
            assert "secret" not in recorded
            assert recorded.startswith("unfooled attack https://example.org/x")
            assert option.split("=")[0].strip() in recorded and recorded.endswith("--seed 1")
    monkeypatch.setattr(sys, "argv", ["unfooled", "attack", "hf:folder"])
    assert command_without_secrets("hf:folder", "folder") == "unfooled attack hf:folder"


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--recipe", "textfoler"], 2, "Did you mean 'textfooler'?"),
        (["--recipe", "swap,textfoler"], 2, "Did you mean 'textfooler'?"),
        (["--recipe", "swap", "--set", "replacment=x"], 2, "Did you mean 'replacement'?"),
        (["--recipe", "peek"], 2, "peek needs the victim's gradients"),
        (["--recipe", "swap", "--query-budget", "0"], 2, "query_budget must be at least 1"),
        (["--recipe", "swap", "--max-changed", "1.5"], 2, "max_changed must be at most 1"),
        (["--recipe", "swap", "--time-cap", "-1"], 2, "time_cap must be at least 0"),
        (["--recipe", "swap", "--sentence", "third"], 2, "'either', 'first', 'second'"),
        (["--recipe", "swap", "--protect-pattern", "[a"], 2, "regular expression"),
        (["--recipe", "swap", "--limit", "0"], 2, "--limit must be at least 1"),
        (["--recipe", "swap", "--in-flight", "0"], 2, "--in-flight must be at least 1"),
        (["--recipe", "swap", "--show", "-1"], 2, "--show must be at least 0"),
        (["--recipe", "swap", "--export", "results.xlsx"], 2, ".csv, .jsonl, .parquet"),
        (["--recipe", "swap", "--similarity", "bert"], 2, "'minilm', 'use'"),
        (
            ["--recipe", "swap", "--predictor", "vote"],
            2,
            "'vote' needs more of victim.py:scores than its answers",
        ),
        (["--recipe", "swap", "--victim-set", "batchsize=3"], 2, "Did you mean 'batch_size'?"),
        (["--recipe", "swap", "--data", "missing.csv"], 1, "missing.csv"),
    ],
)
def test_wrong_use_gives_a_message_and_an_exit_code(
    folder: Path, options: list[str], code: int, said: str
) -> None:
    before = sorted(path for path in folder.rglob("*") if "__pycache__" not in path.parts)
    shown = unfooled(*BASE, *options, cwd=folder)
    assert (shown.returncode, shown.stdout) == (code, b"")
    assert said in shown.said
    assert "missing.csv" in said or "━" not in shown.said, "work had begun"
    assert sorted(path for path in folder.rglob("*") if "__pycache__" not in path.parts) == before


@pytest.mark.parametrize(
    ("victim", "code", "said"),
    [
        ([], 2, "Name what to attack"),
        (["no/such/run"], 1, "no/such/run"),
        (["missing.py:scores"], 1, "missing.py"),
        (["victim.py:nothing"], 1, "nothing"),
        (["victim.py:scores"], 2, "--task NAME or --data FILE"),
    ],
)
def test_victim_that_is_not_there_is_named(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    victim: list[str],
    code: int,
    said: str,
) -> None:
    assert command(monkeypatch, "attack", *victim, "--recipe", "swap") == code
    captured = capsys.readouterr()
    assert said in " ".join(captured.err.split())
    assert "Traceback" not in captured.err


SUCCESS = Outcome(
    row=3,
    status="success",
    original=("a gorgeous, witty film",),
    truth=1,
    first_label=1,
    perturbed=("a gorgeous, ignorant film",),
    label=0,
    changes=(Change(2, 0, 12, 17, "witty", "ignorant"),),
    words=4,
    fresh_successes=19,
    fresh_total=20,
)


def rendered(monkeypatch: pytest.MonkeyPatch, **options: bool) -> str:
    file = io.StringIO()
    console = Console(file=file, highlight=False, width=200, **options)  # type: ignore[arg-type]
    monkeypatch.setattr(attack_show, "out", console)
    shown = attack_show.changes_text(SUCCESS, ("down", "up"), colour=attack_show._colour())
    console.print(shown, soft_wrap=True)
    return file.getvalue()


def test_changes_are_coloured_on_a_terminal_and_marked_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    coloured = rendered(monkeypatch, force_terminal=True)
    assert "\x1b[9;31mwitty\x1b[0m \x1b[32mignorant\x1b[0m" in coloured
    piped = rendered(monkeypatch, force_terminal=False)
    assert "a gorgeous, [-witty-]{+ignorant+} film" in piped and "\x1b" not in piped
    assert "row 3: up → down, 1 of 4 words, holds in 19 of 20 fresh predictions" in piped
    monkeypatch.setenv("NO_COLOR", "1")
    assert "[-witty-]{+ignorant+}" in rendered(monkeypatch, force_terminal=True)


def test_long_unchanged_stretches_are_left_out_around_a_change() -> None:
    long = "x" * 500
    text = f"{long} good {long} bad {long}"
    changes = tuple(
        Change(number, 0, text.index(word), text.index(word) + len(word), word, "new")
        for number, word in ((1, "good"), (3, "bad"))
    )
    shown = attack_show.changes_text(
        Outcome(1, "success", (text,), 0, first_label=0, label=1, changes=changes, words=5),
        ("a", "b"),
        colour=False,
    ).plain
    assert "[-good-]{+new+}" in shown and "[-bad-]{+new+}" in shown
    assert len(shown) < 500 and shown.count("…") == 3


def test_progress_shows_rate_time_left_and_the_success_rate_so_far(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr("unfooled.cli.show.attack_progress.time.monotonic", lambda: clock[0])
    with attack_progress("swap") as update:
        update(Progress(5, 10, None))  # from the journal
        clock[0] = 100.0
        update(Progress(5, 10, None))  # everything is loaded
        clock[0] = 104.0
        update(Progress(7, 10, 0.25))
    shown = capsys.readouterr().err
    assert "7/10" in shown
    assert "30.0/min, 0:00:06 left ASR 0.250" in shown


def test_every_recipe_that_is_named_is_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    several = [*BASE, "--recipe", "swap", "--recipe", "stubborn,swap", "--limit", 4, "--name", "mine"]
    assert command(monkeypatch, *several, "--json") == 0
    found = json.loads(capsys.readouterr().out)["attacks"]
    assert [one["recipe"]["name"] for one in found] == ["swap", "stubborn"]
    assert [one["result_set"]["name"] for one in found] == ["mine-swap", "mine-stubborn"]


def test_other_settings_get_another_result_set_and_reuse_is_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def attacked(*more: object) -> str:
        assert command(monkeypatch, *BASE, "--recipe", "swap", *more) == 0
        return " ".join(capsys.readouterr().err.split())

    attacked("--limit", 8)
    file = folder / "attacks/victim.py-scores/swap/attack.json"
    kept = file.read_bytes()
    assert "8 of 8 from the journal, nothing asked." in attacked("--limit", 8)
    assert json.loads(file.read_bytes())["reuse"] == {"from_journal": 8, "asked": 0}
    kept = file.read_bytes()
    assert "3 of 3 from the journal, nothing asked." in attacked("--limit", 3)
    told = attacked("--limit", 8, "--seed", 1)
    assert "another question (seed: 0 → 1)" in told and "Saved in attacks/victim.py-scores/swap-2" in told
    assert file.read_bytes() == kept
    assert "8 of 9 from the journal, 1 asked." in attacked("--limit", 9)


def test_dry_run_tells_sizes_and_time_and_keeps_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [*BASE, "--recipe", "swap,stubborn", "--dry-run"]
    assert command(monkeypatch, *arguments, "--limit", 20) == 0
    shown = capsys.readouterr().out
    assert "swap: attack: 20 inputs to ask, 0 from the journal" in shown and "about 0:00:0" in shown
    assert "would be kept in  attacks/victim.py-scores/stubborn" in shown
    assert not (folder / "attacks").exists()
    assert command(monkeypatch, *BASE, "--recipe", "swap", "--limit", 12) == 0
    before = sorted((folder / "attacks").rglob("*"))
    capsys.readouterr()
    assert command(monkeypatch, *arguments, "--limit", 20, "--json") == 0
    found = json.loads(capsys.readouterr().out)["dry_run"]
    assert (found["swap"]["left"], found["swap"]["from_journal"], found["swap"]["measured"]) == (8, 12, 8)
    assert found["stubborn"]["left"] == 20 and found["swap"]["seconds"] > 0
    assert sorted((folder / "attacks").rglob("*")) == before
