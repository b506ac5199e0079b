"""Where the answers of a study are, and how they are opened."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ecsuite.eval.results.files import require_no_other
from ecsuite.files.locks import Lock
from ecsuite.formats.directory import ANSWERS
from ecsuite.parts.config import build
from ecsuite.people.database import Database, Row
from ecsuite.people.study import Study, read_study, require_same
from ecsuite.runtime.errors import ConfigError, DamagedError, FormatError

RUNS = Path("runs")
"""Folder of the folders of studies."""


def folder_of(study: Path) -> Path:
    """The folder of the answers of a study: its own, or that of a study file, `runs/NAME`."""
    return RUNS / read_study(study).name if study.suffix in (".yaml", ".yml") else study


@contextmanager
def only_server(folder: Path) -> Iterator[Path]:
    """Keep other servers from a study meanwhile: who waits for a partner, and how plays go on, one of them knows.

    The lock is that of a run folder, beside the folder, and ends with the process.

    Raises:
        ConfigError: If another process has it, or the folder is of a run or a sweep.
    """
    require_no_other(folder, "a study with people")
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = Lock(folder.parent / f".{folder.name}.lock")
    if not lock.acquire():
        raise ConfigError(
            f"{folder}: {lock.holder}, serves it: end that first, or choose another folder with --out"
        )
    try:
        yield folder
    finally:
        lock.release(removes=True)


def make_database(study: Study, folder: Path) -> Database:
    """Open the answers of a study to add to them, or begin with none.

    Raises:
        ConfigError: If the folder has answers to another study, is of a run or a sweep, or can't be used.
    """
    require_no_other(folder, "a study with people")
    folder.mkdir(parents=True, exist_ok=True)
    settings = json.dumps(study.as_json())
    database = Database(folder / ANSWERS, {"study": settings})
    require_same(stored_study(database), study, folder)
    database.store_setting("study", settings)
    return database


def open_database(study: Path) -> Database:
    """Open the answers of a study by its folder or its file.

    Raises:
        ConfigError: If there are none.
    """
    return Database(folder_of(study) / ANSWERS)


def stored_study(database: Database) -> Study:
    """The study that answers were given in, with its texts."""
    text = database.setting("study")
    try:
        study: Study = build(Study, json.loads(text), str(database.file))
    except ValueError as error:
        raise _unfit(database, error) from None
    for row in database.participants():
        if (row["dataset"], row["grammar"]) not in study.conditions or row[
            "protocol"
        ] != study.played_protocol:
            raise _unfit(
                database, f"nobody does {row['protocol']}, {row['grammar']} about {row['dataset']} in it"
            )
    return study


@contextmanager
def reading(database: Database) -> Iterator[None]:
    """Read answers, which nobody has checked since they were stored.

    Raises:
        DamagedError: If they do not fit to their study, as after somebody edited the file.
    """
    try:
        yield
    except (ConfigError, FormatError):
        raise
    except (LookupError, ValueError, TypeError, ArithmeticError, AttributeError, AssertionError) as error:
        raise _unfit(database, error) from error


def _unfit(database: Database, why: object) -> DamagedError:
    said = " ".join(str(why).split()) or type(why).__name__
    return DamagedError(
        f"{database.file}: what is stored does not fit to its study ({said:.200}): edited or damaged; restore a "
        "copy of it"
    )


def find_participant(token: str, study: Path | None) -> tuple[Database, Row]:
    """The participant of a token: in one study, or in any below `runs/`.

    Raises:
        ConfigError: If nobody has it.
    """
    folders = sorted(file.parent for file in RUNS.glob(f"*/{ANSWERS}")) if study is None else [study]
    for folder in folders:
        database = open_database(folder)
        if (row := database.participant(token)) is not None:
            return database, row
        database.close()
    looked = ", ".join(map(str, folders)) or f"{RUNS}/*/{ANSWERS}, of which there is none"
    raise ConfigError(
        f"no participant with this token in {looked}; expected the token of a participant's last page"
    )
