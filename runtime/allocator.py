"""While it computes on the CPU, the process keeps the memory that it frees, instead of returning it to the system.

Every step of training frees its activations. By default the C library of Linux returns them to the system, which then
must map and clear the same pages again in the next step.
"""

import ctypes
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD = -1, -2, -3
"""Parameters of glibc's `mallopt`; see its manual page."""
KEPT = {MMAP_THRESHOLD: 2**25, TRIM_THRESHOLD: 2**31 - 1, TOP_PAD: 2**26}
"""In bytes: what is smaller comes from memory that is kept; the most that is kept; what is requested at once."""
USUAL = {MMAP_THRESHOLD: 2**22, TRIM_THRESHOLD: 2**24, TOP_PAD: 2**17}
"""Afterwards: large arrays are returned as soon as they are freed; NumPy maps those from 4 MiB on in huge pages."""
_LOCK = threading.Lock()
_num_users = 0


@contextmanager
def kept_memory() -> Iterator[None]:
    """Keep freed memory in the block, in all threads; what is then unused is returned. Only glibc can."""
    global _num_users
    with _LOCK:
        _num_users += 1
        if _num_users == 1:
            _set(KEPT)
    try:
        yield
    finally:
        with _LOCK:
            _num_users -= 1
            if _num_users == 0:
                _set(USUAL)
                if (library := _glibc()) is not None:
                    library.malloc_trim(0)


def _set(parameters: dict[int, int]) -> None:
    if (library := _glibc()) is not None:
        for name, value in parameters.items():
            library.mallopt(name, value)


@cache
def _glibc() -> ctypes.CDLL | None:
    """The C library of this process, if it is glibc."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "gnu_get_libc_version") and hasattr(library, "mallopt") else None
