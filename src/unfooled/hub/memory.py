"""Freed memory is kept for the next pass, on a CPU with the GNU C library.

By default what a pass of some megabytes frees goes back to the system at once, and the next pass waits for it
page by page: up to half of the time of a small network (docs/performance.md).
"""

from __future__ import annotations

import ctypes
import os
import platform
from functools import cache

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""Numbers of the settings in ``malloc.h``."""
KEPT = 256 << 20
"""Bytes that stay with the process when they are freed."""


@cache
def keep_freed_memory() -> bool:
    """Keep up to 256 MB in the process; False where that cannot be set, or the user has set it."""
    named = [name for name in os.environ if name.startswith("MALLOC_") or name == "GLIBC_TUNABLES"]
    if platform.libc_ver()[0] != "glibc" or named:
        return False
    library = ctypes.CDLL(None)
    set_to = getattr(library, "mallopt", None)
    if set_to is None:
        return False
    # One arena: those of threads are pieces of 64 MB, each given back as soon as it is empty.
    large = set_to(_MMAP_THRESHOLD, 64 << 20) or set_to(_MMAP_THRESHOLD, 32 << 20)  # the most of old versions
    return bool(large and set_to(_TRIM_THRESHOLD, KEPT) and set_to(_ARENA_MAX, 1))
