"""The file of answers: what is refused, and what a full disk leaves."""

import runpy
import sqlite3
from contextlib import closing

import pytest

from ecsuite.formats.directory import ANSWERS
from ecsuite.people import database as answers
from ecsuite.people.database import Database
from ecsuite.people.opening import make_database
from ecsuite.people.study import Study
from ecsuite.runtime.errors import ConfigError, DamagedError

FLUSHED = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "secure_delete": 1}
"""SQLite's settings; 2 is FULL."""


def test_a_database_of_another_version_is_refused_by_name(tmp_path, ecsuite):
    with closing(sqlite3.connect(tmp_path / ANSWERS)) as connection, connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(ConfigError, match="expected a database of format 1, got 99"):
        Database(tmp_path / ANSWERS)
    code, _, err = ecsuite("people", "status", str(tmp_path))
    assert code == 2 and len(err.splitlines()) == 1


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path):
    (tmp_path / ANSWERS).write_bytes(b"not a database" * 100)
    with pytest.raises(DamagedError, match="restore a copy"):
        Database(tmp_path / ANSWERS)
    assert (tmp_path / ANSWERS).read_bytes() == b"not a database" * 100


@pytest.mark.parametrize(
    ("file", "kind"), [("sweep.json", "a sweep"), ("jobs", "a sweep"), ("config.yaml", "a run or a corpus")]
)
def test_the_folder_of_something_else_is_refused(file, kind, tmp_path):
    (tmp_path / file).touch()
    with pytest.raises(ConfigError, match=f"is the folder of {kind}: choose another folder with --out"):
        make_database(Study(name="mine"), tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == [file]


def test_every_change_is_flushed_and_what_is_withdrawn_leaves_the_file(tmp_path, monkeypatch):
    as_shipped = runpy.run_path(answers.__file__)["SYNCHRONOUS"]  # tests have another
    monkeypatch.setattr(answers, "SYNCHRONOUS", as_shipped)
    database = Database(tmp_path / ANSWERS, {})
    settings = {name: database._run(f"PRAGMA {name}").fetchone()[0] for name in FLUSHED}
    database.close()
    assert settings == FLUSHED


def test_a_full_disk_loses_nothing_and_the_answer_can_be_sent_again(sessions):
    """SQLite's limit of pages fails as a full disk does."""
    study = sessions(grammars=("concat",), datasets=("synth",))
    database = study.database
    study.begin("token")
    row = study.required("token")
    pages = database._run("PRAGMA page_count").fetchone()[0]
    database._run(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(sqlite3.OperationalError, match="full"):
        for number in range(1000):
            study.begin(f"token{number}")
    assert study.required("token") == row
    counted = len(database.participants())
    database._run(f"PRAGMA max_page_count = {pages + 100}")
    study.begin("later")
    assert len(database.participants()) == counted + 1


@pytest.mark.parametrize("command", ["score", "show", "report", "verify", "methods"])
def test_answers_are_no_corpus(ecsuite, tmp_path, command):
    (tmp_path / "a study").mkdir()
    (tmp_path / "a study" / ANSWERS).touch()
    code, _, err = ecsuite(command, "a study")
    assert (code, err) == (
        2,
        "a study: answers of people: `ecsuite people export 'a study'` makes corpora of them\n",
    )
