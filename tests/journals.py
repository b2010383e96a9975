"""What a journal holds, read while another process may be writing it."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any


def stored(journal: Path, table: str) -> list[tuple[str, int, str]]:
    """(conditions, number, result) of every row, in order; none before the table is there."""
    if not journal.exists():
        return []
    connection = sqlite3.connect(journal)
    try:
        return connection.execute(
            f"SELECT conditions, number, result FROM {table} ORDER BY conditions, number"
        ).fetchall()
    except sqlite3.OperationalError:  # the table is not there yet
        return []
    finally:
        connection.close()


def timeless(journal: Path, table: str) -> dict[tuple[str, int], dict[str, Any]]:
    """By conditions and number, the results without the time they took."""
    return {
        (key, number): {**json.loads(text), "seconds": 0.0} for key, number, text in stored(journal, table)
    }
