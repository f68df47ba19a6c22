"""Memory that is kept for the next table."""

from __future__ import annotations

import ctypes
import sys
from functools import cache

import pyarrow as pa

_KEEP_MEMORY = {-1: 2**31 - 1, -2: 2**26, -3: 2**25}
"""Of mallopt(3): M_TRIM_THRESHOLD, M_TOP_PAD and M_MMAP_THRESHOLD, which may not be more."""


@cache
def keep_memory() -> None:
    """For a process that does nothing but work on tables: memory that it is done with is kept for the next table.

    If it were given back to the system, it would have to be requested and cleared again, which takes as long as much of
    the work.
    """
    pa.set_memory_pool(pa.system_memory_pool())
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:  # as with glibc
        for setting, value in _KEEP_MEMORY.items():
            mallopt(setting, value)
