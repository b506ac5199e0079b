"""Memory limits for reading files, free memory, and reuse of freed memory.

The limit is `--max-memory`, `ECSUITE_MAX_MEMORY`, or a share of free memory; in Python `read_corpus(path,
max_memory="8G")`.
"""

import math
import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

from ecsuite.runtime.errors import ConfigError, shown

VARIABLE = "ECSUITE_MAX_MEMORY"
"""Environment variable with the memory limit, such as 8G; `--max-memory` sets it, so that workers inherit it."""
SHARE = 0.75
"""Default limit as a share of free memory."""
UNCHECKED = 1 << 26
"""Bytes that are always allowed by default, without checking free memory."""
_GIVEN: ContextVar[int | None] = ContextVar("max_memory", default=None)
"""Limit in bytes set by a caller in Python."""
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def read_size(text: str, place: str) -> int:
    """Parse a number of bytes: `500M`, `8G`, `1.5GiB`, `1000000`; units are powers of 1,024.

    Raises:
        ConfigError: If the text is not a size; the message begins with `place`.
    """
    found = re.fullmatch(
        r"(\d{1,15}(?:\.\d{1,9})?) ?([kmgt]?)(?:i?b)?", text.strip(), re.IGNORECASE | re.ASCII
    )
    if found is None or not (size := int(float(found[1]) * _UNITS[found[2].upper()])):
        raise ConfigError(f"{place}: expected a size such as 500M or 8G, got {shown(text)}")
    return size


def set_max_memory(text: str | None) -> None:
    """Set the memory limit of this process and its child processes, unless None; `ConfigError` if not a size."""
    if text is not None:
        read_size(text, "--max-memory")
        os.environ[VARIABLE] = text


@contextmanager
def allowing(text: str | None) -> Iterator[None]:
    """Set the memory limit in the block, overriding other settings; None changes nothing.

    Raises:
        ConfigError: If the text is not a size.
    """
    token = _GIVEN.set(_GIVEN.get() if text is None else read_size(str(text), "max_memory"))
    try:
        yield
    finally:
        _GIVEN.reset(token)


def max_memory() -> float:
    """Memory limit for reading a file, in bytes; infinite if nothing is set and free memory is unknown.

    Raises:
        ConfigError: If the environment variable is not a size.
    """
    if (given := _GIVEN.get()) is not None:
        return given
    text = os.environ.get(VARIABLE, "")
    return read_size(text, VARIABLE) if text else SHARE * free_memory()


def require_memory(
    needed: float, place: object, what: str = "to be read", *, allowed: float | None = None
) -> None:
    """Raise `ConfigError` if a task needs more memory than the limit.

    Args:
        needed: Estimated lower bound in bytes.
        place: File, for the error message.
        what: Purpose of the memory, for the error message.
        allowed: Limit from an earlier `max_memory`; None: the current limit.

    Raises:
        ConfigError: With the needed and allowed memory, and the option that allows more.
    """
    given = _GIVEN.get()
    if needed <= UNCHECKED and given is None and not os.environ.get(VARIABLE):
        return
    allowed = max_memory() if allowed is None else allowed
    if needed > allowed:
        option = (
            f"--max-memory {_limit_text(needed)}" if given is None else f"max_memory='{_limit_text(needed)}'"
        )
        raise ConfigError(
            f"{place}: needs {size_text(needed)} of memory {what}, and {size_text(allowed)} are allowed; "
            f"{option} allows more"
        )


def require_weights_fit(folder: Path) -> None:
    """Raise `ConfigError` if the safetensors files of a model's folder exceed the memory limit.

    Raises:
        ConfigError: If they do; a missing folder is accepted.
    """
    require_memory(
        sum(file.stat().st_size for file in folder.glob("*.safetensors")), folder, "for its weights"
    )


def size_text(size: float) -> str:
    """Format a number of bytes, such as `1.5 GiB`."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:,.1f} TiB"


def _limit_text(size: float) -> str:
    """Value of `--max-memory` that is at least a size."""
    unit = "G" if size > 1 << 30 else "M"
    return f"{math.ceil(size / _UNITS[unit])}{unit}"


def free_memory() -> float:
    """Free memory of this machine in bytes, within the limits of its container and process; infinite if unknown."""
    return max(0.0, min(_free_on_machine(), _free_in_group(), _free_in_process()))


def _free_on_machine() -> float:
    try:
        found = re.search(
            r"^MemAvailable:\s*(\d+) kB", Path("/proc/meminfo").read_text("ascii"), re.MULTILINE
        )
        if found is not None:
            return 1024.0 * int(found[1])
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError, AttributeError):  # as on Windows
        return math.inf


def _free_in_group(root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> float:
    """Free memory of the container or the cluster job, from its control group and the groups above."""
    try:
        lines = [line.split(":", 2) for line in own.read_text("utf-8").splitlines()]
    except (OSError, ValueError):
        return math.inf
    free = math.inf
    for _, kinds, path in (line for line in lines if len(line) == 3):
        if kinds and "memory" not in kinds.split(","):
            continue
        top = root / "memory" if kinds else root
        names = (
            ("memory.limit_in_bytes", "memory.usage_in_bytes") if kinds else ("memory.max", "memory.current")
        )
        group = top / path.lstrip("/")
        for folder in (group, *group.parents):
            try:
                allowed, used = (int((folder / name).read_text("ascii")) for name in names)
                cached = re.search(
                    r"^(?:total_)?inactive_file (\d+)",
                    (folder / "memory.stat").read_text("ascii"),
                    re.MULTILINE,
                )
                # Page cache can be reclaimed.
                free = min(free, allowed - used + (int(cached[1]) if cached else 0))
            except (OSError, ValueError):  # no such file, or "max"
                pass
            if folder == top:
                break
    return free


def _free_in_process() -> float:
    """Free address space within `ulimit -v`."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return math.inf
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        return limit - pages * resource.getpagesize()
    except (ImportError, OSError, ValueError):
        return math.inf


TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD = -1, -2, -3
"""Parameters of glibc's `mallopt`; see its manual page."""
KEPT = {MMAP_THRESHOLD: 2**25, TRIM_THRESHOLD: 2**31 - 1, TOP_PAD: 2**26}
"""glibc malloc in bytes: mmap threshold, trim threshold and top pad, so that freed memory is reused."""
USUAL = {MMAP_THRESHOLD: 2**22, TRIM_THRESHOLD: 2**24, TOP_PAD: 2**17}
"""Values outside the block: large arrays are returned when freed; NumPy maps arrays from 4 MiB on in huge pages."""
_LOCK = threading.Lock()
_num_users = 0


@contextmanager
def kept_memory() -> Iterator[None]:
    """Reuse freed memory in the block, in all threads; unused memory is returned at the end. Only with glibc.

    Every training step frees its activations. By default glibc returns them to the system, which
    must map and clear the same pages again in the next step.
    """
    global _num_users
    library = _glibc()
    with _LOCK:
        _num_users += 1
        if _num_users == 1 and library is not None:
            for name, value in KEPT.items():
                library.mallopt(name, value)
    try:
        yield
    finally:
        with _LOCK:
            _num_users -= 1
            if _num_users == 0 and library is not None:
                for name, value in USUAL.items():
                    library.mallopt(name, value)
                library.malloc_trim(0)


@cache
def _glibc() -> Any:
    """C library of this process, if it is glibc."""
    import ctypes

    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "gnu_get_libc_version") and hasattr(library, "mallopt") else None
