"""What the shell offers after Tab, through the completion of the command itself."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from unfooled.cli.commands import app
from unfooled.cli.options import completion


def offered(*words: str) -> list[str]:
    """What bash would show for the last word."""
    said = {"_UNFOOLED_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(["unfooled", *words])}
    result = CliRunner().invoke(
        app, [], env=said | {"COMP_CWORD": str(len(words))}, prog_name="unfooled", catch_exceptions=False
    )
    return result.stdout.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("train", "--task", "movie"), ["movie-reviews"]),
        (("train", "--defence", "bat-"), ["bat-pairwise", "bat-triplet"]),
        (("train", "--defence", "rsmi+bat-t"), ["rsmi+bat-triplet"]),
        (("train", "--encoder", "mp"), ["mpnet"]),
        (("train", "--precision", "b"), ["bf16"]),
        (("attack", "run", "--recipe", "textfooler,pw"), ["textfooler,pwws"]),
        (("certify", "run", "--threat", "ed"), ["edits"]),
        (("predict", "run", "--predictor", "two"), ["two-step"]),
        (("benchmark", "--preset", "paper-b"), ["paper-bat-mrpc", "paper-bat"]),
        (("assets", "get", "glove-"), ["glove-50d"]),
    ],
)
def test_values_are_offered(words: tuple[str, ...], expected: list[str]) -> None:
    assert sorted(offered(*words)) == sorted(expected)


def test_what_cannot_be_loaded_offers_nothing_and_prints_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from unfooled import assets

    def broken() -> list[str]:
        raise RuntimeError("no")

    monkeypatch.setattr(assets, "names", broken)
    assert completion.asset_names("") == []
