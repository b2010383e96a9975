"""``unfooled assets list|get|verify|path`` as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tiny_index import CONTENT, contents, manifest_of, pinned, write_wheel
from typer.testing import CliRunner

from unfooled.assets import fetch
from unfooled.cli.assets import app
from unfooled.errors import UsageError


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == code, result.output
    return result.stdout


@pytest.fixture(autouse=True)
def tiny(cache: Path, links: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands see one small asset that can be fetched for real."""
    manifest = manifest_of(pinned(write_wheel(links)))
    monkeypatch.setattr(fetch, "default_manifest", lambda: manifest)


@pytest.mark.full
def test_list_shows_size_licence_and_whether_it_is_cached() -> None:
    row = json.loads(run("list", "--json"))["assets"][0]
    size = sum(map(len, CONTENT.values()))
    assert (row["name"], row["licence"], row["bytes"], row["cached"]) == ("tiny", "CC0-1.0", size, None)
    folder = json.loads(run("get", "tiny", "--json"))["assets"][0]["path"]
    assert json.loads(run("list", "--json"))["assets"][0]["cached"] == folder
    assert "76.8 kB" in run("list")


@pytest.mark.full
def test_path_prints_only_the_folder() -> None:
    assert contents(Path(run("path", "tiny").strip())) == CONTENT
    assert contents(Path(json.loads(run("path", "tiny", "--json"))["path"])) == CONTENT


@pytest.mark.full
def test_get_all_fetches_everything() -> None:
    assert [asset["name"] for asset in json.loads(run("get", "--all", "--json"))["assets"]] == ["tiny"]


@pytest.mark.parametrize("arguments", [[], ["tiny", "--all"], ["tinny"]])
def test_get_without_a_usable_name_is_a_usage_error(arguments: list[str]) -> None:
    result = CliRunner().invoke(app, ["get", *arguments])
    assert isinstance(result.exception, UsageError)


@pytest.mark.full
def test_verify_exits_1_and_the_named_remedy_works() -> None:
    folder = Path(run("path", "tiny").strip())
    assert json.loads(run("verify", "--json"))["ok"] is True
    (folder / "words.txt").write_bytes(b"GOOD\nbad\n")
    report = json.loads(run("verify", "--json", code=1))
    assert report["assets"][0]["problems"][0].startswith("words.txt does not match")
    assert "get --force tiny" in CliRunner().invoke(app, ["verify"]).stderr
    run("get", "--force", "tiny")
    assert run("verify", "tiny") == "tiny: ok\n"


def test_verify_fails_for_a_named_asset_that_is_not_there() -> None:
    assert "not downloaded" in run("verify", "tiny", code=1)
    assert json.loads(run("verify", "--json")) == {"ok": True, "assets": []}


def test_licences_say_who_states_them_and_where_the_asset_comes_from() -> None:
    (row,) = json.loads(run("licences", "--json"))["assets"]
    assert (row["name"], row["licence"], row["stated_by"]) == ("tiny", "CC0-1.0", "its makers")
    assert "package index" in row["sources"][0]
    assert "its makers" in run("licences")
