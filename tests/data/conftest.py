"""Small files to load, written by the tests themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    """Forty balanced rows."""
    path = tmp_path / "reviews.csv"
    path.write_text(
        "text,label\n" + "".join(f"film number {i},{i % 2}\n" for i in range(40)), encoding="utf-8"
    )
    return path


@pytest.fixture(scope="session")
def shared_data() -> Path:
    if not SHARED.is_dir():
        pytest.skip("the optional shared data folder is not here")
    return SHARED
