"""Where the answers of a study are, and how they are opened."""

import json
from pathlib import Path

from ecsuite.eval.records.folders import ANSWERS, require_no_other
from ecsuite.parts.config import build
from ecsuite.people.database import Database, Row
from ecsuite.people.study import Study, read_study, require_same
from ecsuite.runtime.errors import ConfigError

RUNS = Path("runs")
"""Folder of the folders of studies."""


def folder_of(study: Path) -> Path:
    """The folder of the answers of a study: its own, or that of a study file, `runs/NAME`."""
    return RUNS / read_study(study).name if study.suffix in (".yaml", ".yml") else study


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
    study: Study = build(Study, json.loads(database.setting("study")), str(database.file))
    return study


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
