"""Files that are whole or absent: written beside their place, then moved into it; read within limits.

A document is read as the shape that its reader needs (:func:`read_json`): damage is told with the file, the
key and the remedy before anything is done with it.

Names of files may hold bytes that are no UTF-8. They are written as ``\\udc80`` to ``\\udcff``, which JSON
reads back as the same name.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import tempfile
import threading
import typing
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from unfooled.errors import UsageError, UserError
from unfooled.parsing import MOST_YAML, parse_json, parse_yaml, plain, quoted
from unfooled.settings import checked

JsonObject = dict[str, Any]
"""An object of a JSON file of ours: names to whatever JSON holds. Who reads it knows its fields."""

JsonMapping = Mapping[str, Any]
"""The same for who only reads it."""


def write_text(path: Path, text: str) -> None:
    """Write ``text`` to ``path`` in one step: a reader sees the old file or the new one."""
    beside: str | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "wb", dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as file:
            beside = file.name
            file.write(writable(text).encode())
            file.flush()
            os.fsync(file.fileno())
        os.chmod(beside, 0o644)
        os.replace(beside, path)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        if beside is not None:
            Path(beside).unlink(missing_ok=True)  # nothing is left there after a success


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_CLOSED = (errno.EROFS, errno.EACCES, errno.EPERM)
_BLOCKED = (errno.ENOTDIR, errno.EEXIST, errno.EISDIR)


def cannot_write(path: Path, error: BaseException) -> UserError:
    """The message for files that cannot be written at ``path``, a file or a folder: why, and what to do."""
    number = write_error(error)
    reason = os.strerror(number) if number else str(error)
    folder = writable(next((one for one in (path, *path.parents) if one.is_dir()), path.parent))
    if number in _FULL:
        remedy = f"Make room on the disk of {folder}, or choose a folder on another disk"
    elif number in _CLOSED:
        remedy = f"Allow writing in {folder}, or choose another folder"
    elif number == errno.ENAMETOOLONG:
        remedy = "Choose a shorter name"
    elif number in _BLOCKED:
        remedy = "A file stands where a folder is needed: choose another folder"
    else:
        remedy = "Choose another folder"
    return UserError(f"Cannot write {writable(path)}: {reason}. {remedy}, then run the same command again.")


@contextmanager
def writing_below(folder: Path) -> Iterator[None]:
    """What a full or protected disk does to libraries that write below ``folder`` is told, and told once.

    Their threads are silent about it: this one will come upon the same problem.
    """

    def quiet(failed: threading.ExceptHookArgs) -> None:
        if not _is_told(failed.exc_value):
            heard(failed)

    heard, threading.excepthook = threading.excepthook, quiet
    try:
        yield
    except OSError as error:
        if _is_told(error):
            raise cannot_write(folder, error) from error
        raise
    finally:
        threading.excepthook = heard


def _is_told(error: BaseException | None) -> bool:
    return isinstance(error, OSError) and error.errno in (*_FULL, *_CLOSED)


def write_error(error: BaseException | None) -> int | None:
    """The system's number for why a write failed, whichever library tells it; None if there is none.

    safetensors gives it as text; PyTorch says that a file ended too early, sometimes with the cause attached.
    """
    while error is not None:
        if isinstance(error, OSError) and error.errno:
            return error.errno
        if told := re.search(r"\(os error (\d+)\)", str(error)):
            return int(told[1])
        if isinstance(error, RuntimeError) and "iostream error" in str(error):
            return errno.ENOSPC
        error = error.__cause__ or error.__context__
    return None


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def writable(text: str | Path) -> str:
    """The text with what UTF-8 cannot hold spelt out."""
    return str(text).encode("utf-8", "backslashreplace").decode("utf-8")


def write_json(path: Path, value: object) -> None:
    write_text(path, json_text(value))


def json_text(value: object) -> str:
    """What :func:`write_json` writes."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


LONGEST_NAME, LONGEST_PATH = 200, 3000
"""Bytes of a file name and of a path; systems take 255 and 4,096, and files are written beside theirs."""
MOST_BYTES = 256 * 2**20
"""Of a document of ours. The largest, fingerprints of a million rows, have about a tenth of it."""
TRAIN_AGAIN = "The file was changed or cut short: copy the run folder again, or train again."
MEASURE_AGAIN = "The file was changed or cut short: copy the folder again, or measure again."


def check_path(path: str | Path, where: str) -> None:
    """Refuse a path that no system takes: a name that is too long, or holds a zero byte."""
    try:
        names = [os.fsencode(name) for name in Path(path).parts]
    except UnicodeError as error:
        raise UsageError(f"{where}: {quoted(str(path))} cannot be the name of a file.") from error
    if any(len(name) > LONGEST_NAME for name in names) or sum(map(len, names)) > LONGEST_PATH:
        raise UsageError(f"{where}: {quoted(str(path))} is too long for the name of a file.")
    if any(b"\0" in name for name in names):
        raise UsageError(f"{where}: {quoted(str(path))} cannot be the name of a file.")


_OPEN_ALREADY = re.compile(r"/dev/(stdin|null|fd/\d+)|/proc/(self|\d+)/fd/\d+")
"""Standard input, and what a shell puts in the place of ``<(command)``: somebody writes there."""


def check_not_pipe(path: Path) -> None:
    """Refuse a named pipe or a device: opening or reading it may wait for ever.

    Standard input and ``<(command)`` are let through. A file that is not there is left to who opens it.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode) or _OPEN_ALREADY.fullmatch(str(path)):
        return
    kind = "a named pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
    raise UserError(f"{path} is {kind}, not a file. Save its content in a file, and name that file.")


def read_text(path: Path, *, at_most: int = MOST_BYTES) -> str:
    """The UTF-8 text of a file of at most so many bytes."""
    check_not_pipe(path)
    try:
        with path.open("rb") as file:
            content = file.read(at_most + 1)
    except (OSError, ValueError) as error:  # ValueError: a name with a zero byte
        raise UserError(f"Cannot read {path}: {getattr(error, 'strerror', None) or error}.") from error
    if len(content) > at_most:
        raise UserError(f"{path} is larger than {at_most:,} bytes, which no file of its kind is.")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text (byte {error.start:,}). Save it as UTF-8.") from error


def read_json(path: Path, shape: Any = Any, *, remedy: str = MEASURE_AGAIN) -> Any:
    """The document in a JSON file, checked to have the ``shape``: a TypedDict, a dataclass, a list."""
    return in_shape(parse_json(read_text(path), str(path), remedy=remedy), shape, str(path), remedy=remedy)


def in_shape(value: Any, shape: Any, name: str, *, remedy: str = MEASURE_AGAIN) -> Any:
    """The value, checked to have the ``shape``; ``name`` and ``remedy`` are for the message."""
    try:
        made = checked(value, shape, name)
    except UsageError as error:
        raise UserError(f"{error} {remedy}".rstrip()) from error
    return plain(made) if typing.is_typeddict(shape) else made  # a document has lists, as it was written


def read_yaml(path: Path) -> JsonObject:
    """The names and values of a YAML file; an empty one has none."""
    try:
        values = parse_yaml(read_text(path, at_most=4 * MOST_YAML), str(path))
    except UserError as error:
        raise UsageError(str(error)) from error
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise UsageError(
            f"{path} must hold names and values (task: movie-reviews), not a {type(values).__name__}."
        )
    return values
