"""Tarballs of an npm registry: found through npm's settings, checked like every archive, never run."""

from __future__ import annotations

import io
import json
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tiny_index import CONTENT, contents, manifest_of, pinned, pip_only

from unfooled import assets
from unfooled.assets import Asset
from unfooled.assets.npm import npm_settings
from unfooled.errors import AssetError


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


def write_tarball(folder: Path) -> Path:
    """A package with a script that npm would run on installation."""
    path = folder / "tiny-data-1.0.tgz"
    path.parent.mkdir(parents=True, exist_ok=True)
    script = json.dumps({"scripts": {"preinstall": f"touch {folder / 'was-run'}"}})
    with tarfile.open(path, "w:gz") as tar:
        for name, data in {
            "package.json": script.encode(),
            **{f"data/{name}": data for name, data in CONTENT.items()},
        }.items():
            info = tarfile.TarInfo(f"package/{name}")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def npm_asset(archive: Path) -> Asset:
    return pinned(archive, kind="npm", root="package/data/")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which npm is set up by nothing."""
    for name in ("registry", "proxy", "https_proxy", "cafile", "userconfig", "globalconfig"):
        monkeypatch.delenv(f"npm_config_{name}", raising=False)
        monkeypatch.delenv(f"NPM_CONFIG_{name.upper()}", raising=False)
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("npm_config_globalconfig", str(tmp_path / "npmrc"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return folder


@pytest.fixture
def registry(home: Path, tmp_path: Path) -> Iterator[str]:
    """The address of a running registry; its files are below ``site``."""
    (tmp_path / "site").mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "site")))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/npm/"
    server.shutdown()
    server.server_close()


def test_tarball_comes_from_the_registry_of_the_environment_and_nothing_in_it_runs(
    cache: Path, registry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "site" / "npm" / "tiny-data" / "-"
    asset = npm_asset(write_tarball(folder))
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", registry)
    assert contents(assets.path("tiny", manifest=manifest_of(asset))) == CONTENT
    assert not (folder / "was-run").exists()


def test_registry_of_the_users_file_is_used_and_its_document_says_where_the_tarball_is(
    cache: Path, home: Path, registry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asset = npm_asset(write_tarball(tmp_path / "site" / "elsewhere"))
    told = tmp_path / "site" / "npm" / "tiny-data" / "1.0"
    told.parent.mkdir(parents=True)
    told.write_text(
        json.dumps({"dist": {"tarball": registry.replace("npm/", "elsewhere/tiny-data-1.0.tgz")}})
    )
    monkeypatch.setenv("OWN_REGISTRY", registry)
    (home / ".npmrc").write_text("; mine\nregistry = ${OWN_REGISTRY}\n//somewhere/:_authToken=secret\n")
    assert contents(assets.path("tiny", manifest=manifest_of(asset))) == CONTENT


def test_environment_wins_over_the_users_file_which_wins_over_the_global_one(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "npmrc").write_text('registry="https://global/"\nproxy=http://proxy:8080\n')
    assert npm_settings()["registry"][0] == "https://global/"
    (home / ".npmrc").write_text("registry=https://user/\n//user/:_authToken=secret\n")
    assert npm_settings()["registry"][0] == "https://user/"
    monkeypatch.setenv("npm_config_registry", "https://environment/")
    assert npm_settings()["registry"][0] == "https://environment/"
    assert npm_settings()["proxy"][0] == "http://proxy:8080"
    assert "secret" not in repr(npm_settings())


def test_missing_tarball_is_told_with_the_setting_and_without_the_address(
    cache: Path, registry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asset = npm_asset(write_tarball(tmp_path))
    monkeypatch.setenv("npm_config_registry", registry.replace("//", "//me:secret@"))
    with pytest.raises(AssetError, match=r"npm_config_registry.*404") as error:
        assets.path("tiny", manifest=manifest_of(asset))
    assert "127.0.0.1" not in str(error.value) and "secret" not in str(error.value)


def test_registry_out_of_reach_is_told(
    cache: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9/")
    with pytest.raises(AssetError, match=r"tiny-data-1\.0\.tgz could not be fetched.*npm registry"):
        assets.path("tiny", manifest=manifest_of(npm_asset(write_tarball(tmp_path))))


def test_tarball_with_other_bytes_is_refused(
    cache: Path, registry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asset = npm_asset(write_tarball(tmp_path / "site" / "npm" / "tiny-data" / "-"))
    monkeypatch.setenv("npm_config_registry", registry)
    changed = replace(asset, sources=(replace(asset.sources[0], sha256="0" * 64),))
    with pytest.raises(AssetError, match="SHA-256"):
        assets.path("tiny", manifest=manifest_of(changed))
    short = replace(asset, sources=(replace(asset.sources[0], size=10),))
    with pytest.raises(AssetError, match="larger than the manifest's 10 bytes"):
        assets.path("tiny", manifest=manifest_of(short))
    assert contents(cache / "staging") == {}


def test_zip_that_pip_refuses_comes_from_the_index_with_names_of_its_own(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import zipfile

    project = tmp_path / "mirror" / "tiny-data"
    project.mkdir(parents=True)
    path = project / "tiny_data-1.0.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:  # no .dist-info: pip calls it invalid
        wheel.writestr("data/words.dat", CONTENT["words.txt"])
        wheel.writestr("data/more/numbers.bin", CONTENT["more/numbers.bin"])
    pip_only(monkeypatch, PIP_INDEX_URL=(tmp_path / "mirror").as_uri())
    asset = pinned(path, kind="zip", root="data/")
    asset = replace(asset, sources=(replace(asset.sources[0], members={"words.txt": "words.dat"}),))
    assert contents(assets.path("tiny", manifest=manifest_of(asset))) == CONTENT
