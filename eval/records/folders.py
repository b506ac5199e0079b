"""What a folder is of, so that nothing else is written beside its files."""

from pathlib import Path

from ecsuite.eval.records.reading import CORPUS, STORE, SWEEP
from ecsuite.eval.records.source import CONFIG
from ecsuite.formats.directory import ANSWERS
from ecsuite.runtime.errors import ConfigError

FILES = {
    "a sweep": (SWEEP, STORE),
    "a run or a corpus": (CONFIG, CORPUS),
    "a study with people": (ANSWERS,),
}
"""What folders are of, by the files that these have."""


def kind_of_folder(folder: Path) -> str | None:
    """What a folder is of, of `FILES`; None if of nothing of these."""
    return next(
        (kind for kind, names in FILES.items() if any((folder / name).exists() for name in names)), None
    )


def require_no_other(folder: Path, kind: str, option: str = "--out") -> None:
    """Raise `ConfigError` if a folder in which something of a kind is to be written is of another one.

    Args:
        folder: The folder, which may not be there yet.
        kind: Of `FILES`, or of none of these: kept results, data.
        option: What names the folder.
    """
    known = kind_of_folder(folder)
    if known not in (None, kind):
        raise ConfigError(f"{folder} is the folder of {known}: choose another folder with {option}")
