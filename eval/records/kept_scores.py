"""The scores file of a run folder: read, and written so that no score of the same corpus is lost."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ecsuite.files.atomic_files import remove_abandoned, write_atomically
from ecsuite.files.checksums import CHECKSUM, sealed
from ecsuite.files.format_numbers import without_format
from ecsuite.files.locks import Lock
from ecsuite.formats.strict_json import read_json


def read_scores(file: Path) -> dict[str, Any]:
    """The content of the scores file of a run folder; empty if there is none, or it is not a JSON object.

    Raises:
        ConfigError: If it is not JSON.
        DamagedError: If it was changed.
        FormatError: If a newer version of ecsuite wrote it.
    """
    if not file.exists():
        return {}
    before = read_json(file)
    if not isinstance(before, dict):
        return {}
    return without_format("scores", {key: before[key] for key in before if key != CHECKSUM}, file)


def save_scores(file: Path, data: dict[str, Any], note: Callable[[str], None] = lambda _: None) -> None:
    """Write scores to the file of a run folder; its scores of the same corpus with other signatures are kept.

    The file is locked meanwhile, so that of two processes neither loses the other's scores.
    """
    lock = Lock(file.with_name(f".{file.name}.lock"), note)
    lock.acquire(waits=True)
    try:
        remove_abandoned(file.parent, file.name)
        before = read_scores(file)
        try:
            is_same = before["corpus"]["sha256"] == data["corpus"]["sha256"]
            older = {(score["name"], score["signature"]): score for score in before["scores"] if is_same}
        except (KeyError, TypeError):
            older = {}  # no file, or not a scores file
        newer = {(score["name"], score["signature"]): score for score in data["scores"]}
        kept = sealed({**data, "scores": list((older | newer).values())})
        write_atomically(
            file, (json.dumps(kept, indent=2, allow_nan=False, ensure_ascii=False) + "\n").encode()
        )
    finally:
        lock.release()
