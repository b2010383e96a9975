"""Bytes of a text file to characters, with the place of the first byte that does not fit."""

from __future__ import annotations

import codecs
import gzip
import zlib
from pathlib import Path

from unfooled.errors import DataError, UsageError

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_text(path: Path, *, encoding: str = "utf-8") -> str:
    """The whole file, unzipped and decoded, without byte-order mark or NUL characters."""
    known_encoding(encoding)
    data = _read_bytes(path)
    if not data.strip():
        raise DataError(f"{path}: the file is empty. Check that it was written completely.")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise _wrong_encoding(path, data, error.start, encoding) from None
    text = text.removeprefix("\ufeff")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DataError(
            f"{path}, line {line}: there is a NUL character. The file is damaged, binary, or UTF-16:"
            " try --encoding utf-16, or remove the NULs."
        )
    return text


def known_encoding(name: str) -> str:
    """The name of an encoding, if there is one of that name."""
    try:
        codecs.lookup(name)
    except (LookupError, ValueError):
        raise UsageError(
            f"There is no encoding named {name!r}. Usual ones: utf-8, latin-1, cp1252, utf-16."
        ) from None
    return name


def _read_bytes(path: Path) -> bytes:
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if path.suffix.lower() == ".gz" and data else data
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path}: not a complete gzip file ({error}). Compress it again.") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}). Check its permissions.") from None


def _wrong_encoding(path: Path, data: bytes, offset: int, encoding: str) -> DataError:
    line = data.count(b"\n", 0, offset) + 1
    remedy = "latin-1" if codecs.lookup(encoding).name != "iso8859-1" else "utf-8"
    if data.startswith(_UTF16):
        remedy = "utf-16"
    elif codecs.lookup(encoding).name != "utf-8" and _is_utf8(data):
        remedy = "utf-8"
    return DataError(
        f"{path}, line {line}: byte 0x{data[offset]:02x} at offset {offset} is not {encoding} text."
        f" Save the file as UTF-8, or name its encoding, for example --encoding {remedy}."
    )


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
