"""Parquet files; label names are taken along when Hugging Face ``datasets`` wrote the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from unfooled.data.tables.data_table import DataTable
from unfooled.errors import DataError


def read_parquet(path: Path) -> DataTable:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        first_line = str(error).splitlines()[0]
        raise DataError(f"{path}: not a readable Parquet file ({first_line}). Write it again.") from None
    rows = list(enumerate(table.to_pylist(), start=1))
    return DataTable(
        str(path), table.column_names, rows, unit="row", class_names=_class_names(table.schema.metadata)
    )


def _class_names(metadata: dict[bytes, bytes] | None) -> dict[str, list[str]]:
    try:
        features: dict[str, Any] = json.loads((metadata or {})[b"huggingface"])["info"]["features"]
    except (KeyError, ValueError, TypeError):
        return {}
    return {
        name: feature["names"]
        for name, feature in features.items()
        if isinstance(feature, dict) and feature.get("_type") == "ClassLabel"
    }
