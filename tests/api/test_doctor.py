"""The doctor's findings: what is missing is named with its remedy, and nothing is changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from unfooled.api import doctor as api
from unfooled.api.doctor import doctor
from unfooled.assets.index import Settings
from unfooled.cli.commands import app


def of(about: str, **how: bool) -> api.Finding:
    (found,) = [one for one in doctor(**{"network": False, "speed": False, **how}) if one.about == about]
    return found


def test_a_package_that_every_command_needs_is_wrong_and_an_extra_only_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(api, "PACKAGES", ("torch", "no-such-package"))
    monkeypatch.setattr(api, "EXTRAS", {"moon": ("no-such-extra", "moonlight")})
    assert of("torch").state == "ok"
    assert of("no-such-package") == api.Finding(
        "no-such-package", "wrong", "not installed. Install it: pip install no-such-package"
    )
    assert of("[moon]").state == "missing" and "pip install 'unfooled[moon]'" in of("[moon]").found
    result = CliRunner().invoke(app, ["doctor", "--offline", "--json"])
    assert result.exit_code == 1 and json.loads(result.stdout)["ok"] is False


def test_the_cache_is_where_the_environment_says_and_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNFOOLED_CACHE", str(tmp_path / "cache"))
    assert str(tmp_path / "cache") in of("cache").found
    assert of("assets").found == "cached: none" and "minilm" in of("").found
    assert not (tmp_path / "cache").exists()


def test_an_index_that_does_not_answer_is_a_warning_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "pip_settings", lambda: Settings(("http://me:secret@127.0.0.1:9/simple",), ()))
    found = of("package index", network=True)
    assert found.state == "warning" and "PIP_INDEX_URL" in found.found and "secret" not in found.found


@pytest.mark.full
def test_speed_is_measured_without_weights_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNFOOLED_CACHE", str(tmp_path / "cache"))
    assert "minutes per epoch" in of("speed", speed=True).found
    assert not (tmp_path / "cache").exists()
