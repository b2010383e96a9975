"""Options made from a declaration of settings: names, help, and what reaches the command."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

import pytest
import typer
from typer.testing import CliRunner

from unfooled.attacks import Limits
from unfooled.attacks.tools import Tools
from unfooled.certificates.sampling import Reading, Sampling
from unfooled.cli.commands import app as unfooled
from unfooled.cli.options.declared import Options, takes
from unfooled.settings import setting
from unfooled.storage.config import TrainConfig


@dataclass(frozen=True)
class Declared:
    votes_per_text: int = setting(5, "Votes of a text (k)", at_least=1)
    rate: float | None = setting(None, "A share", at_least=0, at_most=1)
    kind: Literal["a", "b"] = setting("a", "Which kind")
    names: tuple[str, ...] | None = setting(None, "Names", commas=True)
    words: tuple[str, ...] = setting((), "Words")
    fast: bool = setting(False, "Do less")
    careful: bool = setting(True, "Do more")
    hidden: str = setting("x", "Left out")


seen: dict[str, Any] = {}
app = typer.Typer()


@app.command()
@takes(what=Options(Declared, leave_out=["hidden"]))
def command(
    place: str, *, what: dict[str, Any], loud: Annotated[bool, typer.Option("--loud")] = False
) -> None:
    seen.clear()
    seen.update(what, place=place, loud=loud)


def given(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["here", *arguments])
    assert result.exit_code == 0, result.output
    return dict(seen)


def test_only_what_was_given_reaches_the_command() -> None:
    assert given() == {"place": "here", "loud": False}
    assert given("--votes-per-text", "7", "--loud") == {"votes_per_text": 7, "place": "here", "loud": True}


@pytest.mark.parametrize(
    ("arguments", "name", "value"),
    [
        (["--rate", "0.5"], "rate", 0.5),
        (["--kind", "b"], "kind", "b"),
        (["--names", "ham, spam"], "names", ["ham", "spam"]),
        (["--words", "New York", "--words", "a,b"], "words", ["New York", "a,b"]),
        (["--fast"], "fast", True),
        (["--no-careful"], "careful", False),
        (["--careful"], "careful", True),
    ],
)
def test_values_arrive_as_declared(arguments: list[str], name: str, value: object) -> None:
    assert given(*arguments)[name] == value


def test_help_tells_meaning_range_choices_and_default() -> None:
    text = " ".join(CliRunner(env={"COLUMNS": "200"}).invoke(app, ["--help"]).output.split())
    for part in (
        "Votes of a text (k) (at least 1; default: 5)",
        "A share (0 to 1)",
        "Which kind (a | b; default: a)",
        "Names (separated by commas)",
        "Words (repeatable)",
        "--no-careful",
    ):
        assert part in text
    assert "hidden" not in text and "Left out" not in text


def test_what_is_left_out_or_wrong_is_no_option() -> None:
    assert CliRunner().invoke(app, ["here", "--hidden", "y"]).exit_code == 2
    assert CliRunner().invoke(app, ["here", "--votes-per-text", "many"]).exit_code == 2


@pytest.mark.parametrize(
    ("name", "declarations"),
    [
        ("train", [TrainConfig]),
        ("sweep", [TrainConfig]),
        ("attack", [Limits, Tools]),
        ("certify", [Sampling, Reading]),
    ],
)
def test_every_setting_of_a_verb_is_an_option_of_its_command(name: str, declarations: list[type]) -> None:
    shown = CliRunner(env={"COLUMNS": "200"}).invoke(unfooled, [name, "--help"]).output
    for declaration in declarations:
        for field in fields(declaration):
            if field.name not in ("settings", "seed"):
                assert f"--{field.name.replace('_', '-')} " in shown.replace("/", " "), field.name
