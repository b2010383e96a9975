"""Readers of the user's files do not wait for a named pipe; what a shell pipes into a command is read."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unfooled.data.images import load_images
from unfooled.data.images.image_files import look, read_image
from unfooled.data.qa.question_sources import asked_rows, read_questions
from unfooled.data.tables import read_table
from unfooled.data.texts import read_rows
from unfooled.errors import UserError
from unfooled.files import read_json, read_yaml
from unfooled.storage.textattack_csv import read_textattack_csv

READERS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "image": ("a.png", read_image),
    "header of an image": ("a.png", look),
    "arrays": ("a.npz", lambda path: load_images(f"npz({path})")),
    "texts": ("a.txt", read_rows),
    "table": ("a.csv", read_table),
    "zipped table": ("a.jsonl.gz", read_table),
    "parquet": ("a.parquet", read_table),
    "questions": ("a.json", read_questions),
    "questions to answer": ("a.json", asked_rows),
    "settings": ("a.yaml", read_yaml),
    "document": ("a.json", read_json),
    "log of TextAttack": ("a.csv", read_textattack_csv),
}


def pipe(path: Path) -> Path:
    if not hasattr(os, "mkfifo"):
        pytest.skip("this system has no named pipes")
    os.mkfifo(path)
    return path


@pytest.mark.parametrize("reader", READERS)
def test_named_pipe_is_refused_and_not_waited_for(reader: str, tmp_path: Path) -> None:
    name, read = READERS[reader]
    path = pipe(tmp_path / name)
    told: list[str] = []

    def attempt() -> None:
        try:
            read(path)
        except UserError as error:
            told.append(str(error))

    reading = threading.Thread(target=attempt, daemon=True)
    reading.start()
    reading.join(20)
    if reading.is_alive():
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))  # lets it end
    assert told and f"{path} is a named pipe, not a file. Save its content in a file" in told[0]


def test_device_is_refused() -> None:
    if not Path("/dev/zero").exists():
        pytest.skip("there is no /dev/zero here")
    with pytest.raises(UserError, match="/dev/zero is a device, not a file"):
        read_image(Path("/dev/zero"))


def given_by_the_shell(content: bytes) -> Path:
    """What ``<(command)`` becomes: the name of a pipe that is open and written to."""
    if not Path("/dev/fd").exists():
        pytest.skip("there is no /dev/fd here")
    reader, writer = os.pipe()
    os.write(writer, content)
    os.close(writer)
    return Path(f"/dev/fd/{reader}")


def test_pipe_of_the_shell_is_read() -> None:
    assert list(read_rows(given_by_the_shell(b"good\nbad\n")).texts) == [("good",), ("bad",)]
    assert read_yaml(given_by_the_shell(b"epochs: 3\n")) == {"epochs": 3}
    image = pytest.importorskip("PIL.Image").fromarray(np.eye(5, dtype=np.uint8))
    content = io.BytesIO()
    image.save(content, "PNG")
    assert np.array_equal(read_image(given_by_the_shell(content.getvalue()))[..., 0], np.eye(5))
