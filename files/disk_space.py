"""Free disk space, checked before long computations."""

import shutil
from pathlib import Path

from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.memory import size_text


def free_space(folder: Path) -> int:
    """Free bytes on the disk of a folder, which need not exist yet."""
    place = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    return shutil.disk_usage(place).free


def require_space(needed: float, folder: Path, what: str) -> None:
    """Check that files fit on the disk.

    Args:
        needed: Lower bound of the size in bytes.
        folder: Folder of the files.
        what: Purpose of the files in messages, such as `for a checkpoint`.

    Raises:
        ConfigError: If too little is free; the message has both sizes.
    """
    free = free_space(folder)
    if needed > free:
        raise ConfigError(
            f"{folder}: needs {size_text(needed)} on the disk {what}, and {size_text(free)} are free: "
            "make room, or choose another folder"
        )
