"""Folder of downloaded data, and of results computed from them, on this machine."""

import os
from pathlib import Path


def data_folder(name: str) -> Path:
    """Folder of prepared data: `name` in the folder ECSUITE_DATA, or in ~/.cache/ecsuite if that is not set."""
    chosen = os.environ.get("ECSUITE_DATA")
    return (Path(chosen) if chosen else Path("~/.cache/ecsuite")).expanduser() / name
