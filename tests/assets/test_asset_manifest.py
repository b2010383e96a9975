"""What a manifest may say, where the cache is, and what importing costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from unfooled import assets
from unfooled.assets.manifest import Manifest
from unfooled.errors import AssetError

ENTRY = """
[tiny]
description = "d"
licence = "l"
licence_from = "f"
files = [{{ path = "{path}", size = 1, sha256 = "{sha256}" }}]
[[tiny.sources]]
kind = "{kind}"
project = "p"
version = "1"
filename = "p.whl"
size = 1
sha256 = "{sha256}"
"""
GOOD = {"path": "a/b.txt", "sha256": "0" * 64, "kind": "wheel"}


def read(tmp_path: Path, **changes: str) -> Manifest:
    (tmp_path / "manifest.toml").write_text(ENTRY.format(**GOOD | changes))
    return Manifest.read(tmp_path / "manifest.toml")


@pytest.mark.parametrize(
    "changes",
    [
        {"path": "../a.txt"},
        {"path": "/a.txt"},
        {"path": "model.pkl"},
        {"sha256": "abc"},
        {"kind": "torrent"},
        {"path": '"'},
    ],
)
def test_unsafe_or_incomplete_entry_is_refused(tmp_path: Path, changes: dict[str, str]) -> None:
    assert read(tmp_path)["tiny"].files[0].member == "a/b.txt"
    with pytest.raises(AssetError, match=r"manifest\.toml is not valid"):
        read(tmp_path, **changes)


def test_folder_name_changes_with_the_bytes_only(tmp_path: Path) -> None:
    key = read(tmp_path)["tiny"].key
    assert read(tmp_path, kind="sdist")["tiny"].key == key
    assert read(tmp_path, path="c.txt")["tiny"].key != key
    assert read(tmp_path, sha256="1" * 64)["tiny"].key != key


def test_every_shipped_asset_says_what_it_is_and_under_which_licence() -> None:
    for name in assets.names():
        asset = assets.describe(name)
        assert asset.description
        assert asset.licence and asset.licence_from
        assert asset.size > 0


def test_cache_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.delenv("UNFOOLED_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert assets.cache_dir() == Path("/home/someone/.cache/unfooled")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert assets.cache_dir() == Path("/xdg/unfooled")
    monkeypatch.setenv("UNFOOLED_CACHE", "~/mine")
    assert assets.cache_dir() == Path("/home/someone/mine")


def test_import_loads_nothing_heavy() -> None:
    code = "import sys, unfooled.assets; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "unfooled.assets.manifest" in loaded
    assert not {"huggingface_hub", "rich", "pip", "filelock", "torch", "urllib.request"} & set(loaded)
