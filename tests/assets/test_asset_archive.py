"""What an archive may not do: climb, link, swell, or hold other bytes than pinned."""

from __future__ import annotations

import stat
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from tiny_index import CONTENT, contents, pinned, sha256, write_sdist, write_wheel

from unfooled.assets import Asset, File, digest
from unfooled.assets.archive import extract
from unfooled.errors import AssetError


def extracted(archive: Path, asset: Asset, folder: Path) -> dict[str, bytes]:
    extract(archive, asset, asset.sources[0], folder)
    return contents(folder)


@pytest.mark.parametrize(
    "name", ["../evil.txt", "/tmp/evil.txt", "tiny/../../evil.txt", "C:/evil.txt", "..\\evil.txt"]
)
def test_zip_with_a_climbing_or_absolute_name_is_refused(tmp_path: Path, name: str) -> None:
    archive = write_wheel(tmp_path)
    asset = pinned(archive)
    with zipfile.ZipFile(archive, "a") as wheel:
        wheel.writestr(zipfile.ZipInfo(name), "evil")
    with pytest.raises(AssetError, match="unsafe path"):
        extracted(archive, asset, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_tar_with_a_climbing_name_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "tiny-data-1.0.tar.gz"
    asset = pinned(write_sdist(tmp_path))
    with tarfile.open(archive, "w:gz") as tar:
        tar.addfile(tarfile.TarInfo("../evil.txt"))
    with pytest.raises(AssetError, match="unsafe path"):
        extracted(archive, asset, tmp_path / "out")


def test_zip_symlink_in_place_of_a_named_member_is_refused(tmp_path: Path) -> None:
    archive = write_wheel(tmp_path, {"more/numbers.bin": CONTENT["more/numbers.bin"]})
    link = zipfile.ZipInfo("tiny/data/words.txt")
    link.create_system = 3
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(archive, "a") as wheel:
        wheel.writestr(link, "/etc/passwd")
    with pytest.raises(AssetError, match="not a regular file"):
        extracted(archive, pinned(archive), tmp_path / "out")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_tar_link_or_device_in_place_of_a_named_member_is_refused(tmp_path: Path, kind: bytes) -> None:
    archive = tmp_path / "tiny-data-1.0.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        info = tarfile.TarInfo("tiny-data-1.0/data/words.txt")
        info.type, info.linkname = kind, "/etc/passwd"
        tar.addfile(info)
    asset = pinned(archive, {"words.txt": CONTENT["words.txt"]})
    with pytest.raises(AssetError, match="not a regular file"):
        extracted(archive, asset, tmp_path / "out")


def test_member_larger_than_pinned_stops_at_the_pinned_size(tmp_path: Path) -> None:
    archive = write_wheel(tmp_path, {"words.txt": bytes(50_000_000)})  # 50 kB packed
    asset = pinned(archive, {"words.txt": b"good\nbad\n"})
    with pytest.raises(AssetError, match="larger than the manifest allows"):
        extracted(archive, asset, tmp_path / "out")
    assert sum(map(len, contents(tmp_path / "out").values())) <= digest.CHUNK


def test_missing_member_is_named(tmp_path: Path) -> None:
    archive = write_wheel(tmp_path, {"words.txt": CONTENT["words.txt"]})
    with pytest.raises(AssetError, match=r"tiny/data/more/numbers\.bin is missing"):
        extracted(archive, pinned(archive), tmp_path / "out")


@pytest.mark.parametrize("write", [write_wheel, write_sdist])
def test_cut_off_archive_is_refused(tmp_path: Path, write) -> None:  # type: ignore[no-untyped-def]
    archive = write(tmp_path)
    asset = pinned(archive)
    archive.write_bytes(archive.read_bytes()[:300])
    with pytest.raises(AssetError, match="cannot be read as an archive"):
        extracted(archive, asset, tmp_path / "out")


TREE = {"sports/1.txt": b"a", "sports/2.txt": b"bb", "tech/1.txt": b"c"}


def with_folder(asset: Asset, expected: dict[str, bytes]) -> Asset:
    """The asset with the folder ``sports`` pinned by its listing instead of file by file."""
    below = {
        name.removeprefix("sports/"): data for name, data in expected.items() if name.startswith("sports/")
    }
    listing = digest.of_listing({name: sha256(data) for name, data in below.items()})
    return replace(
        asset, files=(File("sports", sum(map(len, below.values())), listing, "sports", len(below)),)
    )


@pytest.mark.parametrize("write", [write_wheel, write_sdist])
def test_folder_pinned_by_its_listing_is_taken_whole(tmp_path: Path, write) -> None:  # type: ignore[no-untyped-def]
    archive = write(tmp_path, TREE)
    found = extracted(archive, with_folder(pinned(archive, TREE), TREE), tmp_path / "out")
    assert found == {"sports/1.txt": b"a", "sports/2.txt": b"bb"}
    assert digest.of_folder(tmp_path / "out" / "sports") == with_folder(pinned(archive), TREE).files[0].sha256


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"sports/1.txt": b"x"}, "does not match"),
        ({"sports/3.txt": b""}, "3 files instead of 2"),
        ({"sports/2.txt": b"bbbb"}, "larger than the manifest allows"),
    ],
)
def test_folder_with_other_bytes_names_or_sizes_is_refused(
    tmp_path: Path, changed: dict[str, bytes], message: str
) -> None:
    archive = write_wheel(tmp_path, TREE | changed)
    with pytest.raises(AssetError, match=message):
        extracted(archive, with_folder(pinned(archive, TREE), TREE), tmp_path / "out")
