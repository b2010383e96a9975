"""A tiny package index of one's own: real archives, real pip, no network."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from unfooled.assets import Asset, File, Manifest, Source

CONTENT = {"words.txt": b"good\nbad\n", "more/numbers.bin": bytes(range(256)) * 300}


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def write_wheel(folder: Path, content: dict[str, bytes] = CONTENT, *, project: str = "tiny-data") -> Path:
    """A wheel that pip accepts, with data below ``tiny/data/``."""
    name_and_version = f"{project.replace('-', '_')}-1.0"
    path = folder / f"{name_and_version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in content.items():
            wheel.writestr(f"tiny/data/{name}", data)
        wheel.writestr("tiny/__init__.py", "raise SystemExit('an asset must never be imported')")
        wheel.writestr(
            f"{name_and_version}.dist-info/METADATA",
            f"Metadata-Version: 2.1\nName: {project}\nVersion: 1.0\n",
        )
        tags = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        wheel.writestr(f"{name_and_version}.dist-info/WHEEL", tags)
        wheel.writestr(f"{name_and_version}.dist-info/RECORD", "")
    return path


def write_sdist(folder: Path, content: dict[str, bytes] = CONTENT) -> Path:
    """A source distribution whose build script leaves a mark if anything runs it."""
    path = folder / "tiny-data-1.0.tar.gz"
    script = f"open({str(folder / 'was-run')!r}, 'w').close()"
    with tarfile.open(path, "w:gz") as tar:
        for name, data in {
            "setup.py": script.encode(),
            **{f"data/{n}": d for n, d in content.items()},
        }.items():
            info = tarfile.TarInfo(f"tiny-data-1.0/{name}")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def pinned(archive: Path, content: dict[str, bytes] = CONTENT, **changes: str) -> Asset:
    """The asset ``tiny`` with the archive as its only source."""
    kind, root = ("wheel", "tiny/data/") if archive.suffix == ".whl" else ("sdist", "tiny-data-1.0/data/")
    data = archive.read_bytes()
    fields = {
        "kind": kind,
        "project": "tiny-data",
        "version": "1.0",
        "root": root,
        "sha256": sha256(data),
    } | changes
    source = Source(filename=archive.name, size=len(data), **fields)  # type: ignore[arg-type]
    files = tuple(File(name, len(data), sha256(data), name) for name, data in content.items())
    return Asset("tiny", "two small files", "CC0-1.0", "its makers", files, (source,))


def manifest_of(asset: Asset) -> Manifest:
    return Manifest({asset.name: asset})


def contents(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def pip_only(monkeypatch: pytest.MonkeyPatch, **settings: str) -> None:
    """Give pip exactly these settings, whatever the machine has."""
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    for name, value in settings.items():
        monkeypatch.setenv(name, value)


class Index(ThreadingHTTPServer):
    """A package index over HTTP that counts downloads and can hang in the middle of one."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), partial(_Handler, directory=str(folder)))
        self.downloads = 0
        self.authorizations: set[str | None] = set()
        self.go_on = threading.Event()
        self.go_on.set()
        self.half_sent = threading.Event()

    def address(self, credentials: str = "") -> str:
        return f"http://{credentials}127.0.0.1:{self.server_address[1]}/simple"


class _Handler(SimpleHTTPRequestHandler):
    server: Index

    def do_GET(self) -> None:
        self.server.authorizations.add(self.headers["Authorization"])
        if not self.path.endswith(".tar.gz"):
            super().do_GET()
            return
        self.server.downloads += 1
        data = Path(self.translate_path(self.path)).read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2])
        self.wfile.flush()
        self.server.half_sent.set()
        self.server.go_on.wait(30)
        self.wfile.write(data[len(data) // 2 :])

    def guess_type(self, path: object) -> str:
        return "application/vnd.pypi.simple.v1+json" if "json" in self.path else "text/html"

    def log_message(self, *args: object) -> None:
        pass
