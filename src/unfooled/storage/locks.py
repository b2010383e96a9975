"""One process at a time does a piece of work in a folder.

The lock is the operating system's: it goes with the process that holds it, so a killed process blocks nobody.
The process id beside it is only for the message.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from unfooled.errors import UserError
from unfooled.files import cannot_write


@contextmanager
def alone(folder: Path, work: str) -> Iterator[None]:
    """Do ``work`` («training») in ``folder``, which is made; a second process is refused."""
    from filelock import FileLock, Timeout

    lock, holder = FileLock(folder / f".{work}.lock"), folder / f".{work}.pid"
    made = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        raise UserError(
            f"Another {work} is running in {folder}{_process(holder)}. Wait for it, or choose another --out."
        ) from None
    except OSError as error:
        raise cannot_write(folder, error) from error
    try:
        with suppress(OSError):
            holder.write_text(f"{os.getpid()}\n", encoding="ascii")
        yield
    finally:
        with suppress(OSError):
            holder.unlink(missing_ok=True)
        lock.release()
        with suppress(OSError):  # work that was refused leaves nothing behind
            if made and [path.name for path in folder.iterdir()] == [Path(lock.lock_file).name]:
                Path(lock.lock_file).unlink()
                folder.rmdir()


def _process(holder: Path) -> str:
    try:
        return f" (process {int(holder.read_text(encoding='ascii'))})"
    except (OSError, ValueError):  # it holds the lock, but has not written its id yet
        return ""
