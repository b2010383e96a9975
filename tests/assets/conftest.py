"""Fixtures: a cache of one's own, and pip pointed at a tiny local index."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tiny_index import Index, pip_only, write_sdist


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("UNFOOLED_CACHE", str(folder))
    monkeypatch.delenv("UNFOOLED_OFFLINE", raising=False)
    return folder


@pytest.fixture
def links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip is told to take archives from, and from nowhere else."""
    folder = tmp_path / "links"
    folder.mkdir()
    pip_only(monkeypatch, PIP_NO_INDEX="1", PIP_FIND_LINKS=str(folder))
    return folder


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    """A running index with the project ``tiny-data``; its page is HTML with a relative link."""
    page = tmp_path / "site" / "simple" / "tiny-data" / "index.html"
    page.parent.mkdir(parents=True)
    archive = write_sdist(tmp_path / "site")
    page.write_text(f'<a href="../../{archive.name}#sha256=00">{archive.name}</a>')
    server = Index(tmp_path / "site")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    pip_only(monkeypatch, PIP_INDEX_URL=server.address())
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield server
    server.go_on.set()
    server.shutdown()
    server.server_close()
