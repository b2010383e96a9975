"""The ``unfooled`` command run in this process, where the start of a process is not what is tested.

A process of its own spends seconds on imports. Here the command gets its own arguments, folder and streams,
and what it would have shown is returned: exit code, stdout, stderr. A crash is a traceback on stderr, as in a
shell.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest

from unfooled.cli import main


@dataclass(frozen=True)
class Shown:
    """What a finished command leaves in a terminal."""

    returncode: int
    stdout: bytes
    stderr: bytes

    @property
    def said(self) -> str:
        """The messages, without their line breaks."""
        return " ".join(self.stderr.decode().split())


def unfooled(*arguments: object, stdin: bytes = b"", cwd: Path | None = None) -> Shown:
    """Run ``unfooled ARGUMENTS`` in the folder `cwd`, with `stdin` as its input."""
    streams = {name: io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for name in ("stdout", "stderr")}
    given = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    code = 0
    with contextlib.ExitStack() as stack:
        stack.callback(os.chdir, Path.cwd())
        os.chdir(cwd or Path.cwd())
        stack.enter_context(mock.patch.object(sys, "argv", ["unfooled", *map(str, arguments)]))
        for name, stream in {**streams, "stdin": given}.items():
            stack.enter_context(mock.patch.object(sys, name, stream))
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        except Exception:
            traceback.print_exc()
            code = 1
    for stream in streams.values():
        stream.flush()
    return Shown(code, *(stream.buffer.getvalue() for stream in streams.values()))


def command(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """The exit code alone; what is shown goes to the test's own streams (``capsys``)."""
    monkeypatch.setattr(sys, "argv", ["unfooled", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        main()
    return int(left.value.code or 0)
