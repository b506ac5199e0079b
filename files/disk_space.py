"""Room on a disk, asked for before long work."""

import shutil
from pathlib import Path

from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.memory import size_text


def free_space(folder: Path) -> int:
    """Bytes that are free where a folder is, or will be made."""
    place = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    return shutil.disk_usage(place).free


def require_space(needed: float, folder: Path, what: str) -> None:
    """Refuse work whose files cannot fit.

    Args:
        needed: Bytes, an estimate from below.
        folder: Where they are written.
        what: What they are, such as `for a checkpoint`.

    Raises:
        ConfigError: If less is free; the message says how much is needed and free.
    """
    free = free_space(folder)
    if needed > free:
        raise ConfigError(
            f"{folder}: needs {size_text(needed)} on the disk {what}, and {size_text(free)} are free: "
            "make room, or choose another folder"
        )
