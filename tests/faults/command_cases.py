"""Fuzz cases that run every command in this process, with odd arguments and any of its options."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import typer
from library_cases import Case, at_work, things_to_work_on
from mutations import NUMBERS, TEXTS

from commands import unfooled
from unfooled.cli.commands import app

LEFT_OUT = {
    "demo": "trains real models",
    "assets": "fetches",
}
"""Commands without fuzz cases, and why."""
NOT_CHANGED = ("ray", "preset", "workers")
"""Options that start other processes or plans of hours; their values are checked by tests of their own."""


def command_cases(folder: Path) -> dict[str, Case]:
    """The cases by name, one for each command."""
    folder.mkdir(parents=True, exist_ok=True)
    given = {name: [str(word) for word in words] for name, words in _whole(folder).items()}
    root: Any = typer.main.get_command(app)
    assert set(given) | set(LEFT_OUT) == set(root.commands), "a command without fuzz cases"
    return {
        f"unfooled {name}": _case(name, words, root.commands[name], folder / "work")
        for name, words in given.items()
    }


def _whole(folder: Path) -> dict[str, list[object]]:
    """Each command as it works."""
    run, saved, training = things_to_work_on(folder)
    data = ["--data", training["data"], "--text-column", "review", "--label-column", "stars"]
    trained = [*data, "--encoder", training["encoder"], "--device", "cpu", "--out", "new"]
    plan = folder / "plan.yaml"
    plan.write_text(
        "name: trial\ndefences: [standard]\ntasks:\n"
        f"- {{name: mine, data: {training['data']}, text_column: review, label_column: stars}}\n"
        f"train: {{encoder: {training['encoder']}, device: cpu, epochs: 1}}\n",
        encoding="utf-8",
    )
    return {
        "predict": [saved, "a fine film", "--device", "cpu"],
        "attack": [saved, *data, "--recipe", "swap", "--limit", 1, "--device", "cpu", "--no-validity"],
        "certify": [saved, *data, "--limit", 1, "--n", 3, "--n0", 2, "--no-antonyms", "--device", "cpu"],
        "repeat": [saved, *data, "--repeats", 2, "--limit", 1, "--device", "cpu"],
        "represent": [saved, "--device", "cpu"],
        "report": [run, "--out", "page.html"],
        "verify": [saved, "--device", "cpu"],
        "evaluate": [saved, "--device", "cpu", "--limit", 1],
        "doctor": ["--offline", "--json"],
        "train": trained,
        "sweep": [*trained, "--grid", "lr=1e-4,1e-5"],
        "benchmark": [plan, "--out", "trial", "--dry-run"],
    }


def _case(name: str, words: list[str], command: Any, folder: Path) -> Case:
    options = [p for p in command.params if p.param_type_name == "option" and p.name not in NOT_CHANGED]

    def case(chooser: Random) -> str:
        chosen = list(words)
        if chooser.random() < 0.3:
            place = chooser.randrange(len(chosen))
            chosen[place] = _text(chooser)
        if chooser.random() < 0.1:
            del chosen[chooser.randrange(len(chosen))]
        for option in chooser.sample(options, min(len(options), chooser.choice((0, 1, 1, 2, 3)))):
            chosen += _given(option, chooser)
        stdin = chooser.choice((b"", b"a fine film\n", b"\xff\xfe\n", b"\0"))
        with at_work(folder):
            shown = unfooled(name, *chosen, stdin=stdin, cwd=folder)
        told = shown.stderr.decode("utf-8", "replace")
        assert shown.returncode in (0, 1, 2), f"{name} {chosen}: exit code {shown.returncode}\n{told}"
        assert "Traceback" not in told, f"{name} {chosen}:\n{told}"
        assert shown.returncode == 0 or told.strip() or shown.stdout, f"{name} {chosen}: no message"
        return "done" if shown.returncode == 0 else "refused"

    return case


def _given(option: Any, chooser: Random) -> list[str]:
    flag = chooser.choice([*option.opts, *option.secondary_opts])
    if option.is_flag:
        return [flag]
    return [flag, _text(chooser)]


def _text(chooser: Random) -> str:
    """What a shell can hand over: no zero byte."""
    value: Any = chooser.choice((*NUMBERS, *TEXTS, *(f"votes={text}" for text in TEXTS[:12])))
    return str(value).replace("\0", "").replace("\ud800", "\udcff")
