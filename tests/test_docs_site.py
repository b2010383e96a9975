"""The documentation builds into a site, and every link in it leads somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.full
def test_site_builds_without_a_warning_and_has_every_public_name(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    import unfooled

    page = (tmp_path / "site/api/index.html").read_text(encoding="utf-8")
    shown = [name for name in unfooled.__all__ if not name.startswith("_")]
    missing = [name for name in shown if not re.search(rf'id="unfooled\.[\w.]*\.{name}"', page)]
    assert missing == []
