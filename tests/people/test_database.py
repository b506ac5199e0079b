import itertools
import runpy
import shutil
import sqlite3
from contextlib import closing

import pytest

from ecsuite.formats.directory import ANSWERS
from ecsuite.people import database as answers
from ecsuite.people.database import Database

FLUSHED = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "secure_delete": 1}


def test_every_change_is_flushed_and_what_is_withdrawn_leaves_the_file(tmp_path, monkeypatch):
    as_shipped = runpy.run_path(answers.__file__)["SYNCHRONOUS"]  # tests have another
    monkeypatch.setattr(answers, "SYNCHRONOUS", as_shipped)
    database = Database(tmp_path / ANSWERS, {})
    settings = {name: database._connection.execute(f"PRAGMA {name}").fetchone()[0] for name in FLUSHED}
    database.close()
    assert settings == FLUSHED


@pytest.mark.parametrize("command", ["score", "show", "report", "verify", "methods"])
def test_answers_are_no_corpus(ecsuite, tmp_path, command):
    (tmp_path / "a study").mkdir()
    (tmp_path / "a study" / ANSWERS).touch()
    code, _, err = ecsuite(command, "a study")
    assert (code, err) == (
        2, "a study: has answers of people: `ecsuite people export 'a study'` makes corpora of them\n",
    )  # fmt: skip


STUDIES = {
    "codes": "name: codes\nparticipants: 2\ngrammars: [concat]\n",
    "chains": "name: chains\nchains: 1\ngenerations: 2\ngrammars: [concat]\n",
}
EDITS = {
    "a text for a number": "UPDATE answers SET thing = 'many'",
    "another stage": "UPDATE participants SET stage = 'nowhere'",
    "another language": "UPDATE participants SET grammar = 'nothing'",
    "another protocol": "UPDATE participants SET protocol = 'nothing'",
    "a thing that there is not": "UPDATE answers SET thing = 99999",
    "a step of billions": "UPDATE participants SET step = 5000000000",
    "a negative number": "UPDATE answers SET example = -5",
    "an infinite time": "UPDATE answers SET answered_at = 9e999",
    "answers of nobody": "PRAGMA foreign_keys = OFF; UPDATE answers SET participant = participant + 77",
    "no study": "DELETE FROM settings WHERE name = 'study'",
    "a study that is no JSON": "UPDATE settings SET value = '{' WHERE name = 'study'",
    "another study": "UPDATE settings SET value = '{\"name\": 3}' WHERE name = 'study'",
    "a column more": "ALTER TABLE answers ADD COLUMN more TEXT", "no table": "DROP TABLE replies",
    "bytes": "UPDATE answers SET typed = x'ff00'",
}  # fmt: skip


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    from typer.testing import CliRunner

    from ecsuite.cli import app

    folders = {}
    for kind, text in STUDIES.items():
        folder = tmp_path_factory.mktemp(kind)
        (folder / "study.yaml").write_text(text)
        line = ["people", "simulate", str(folder / "study.yaml"), "--out", str(folder / "answers")]
        result = CliRunner().invoke(app, line)
        assert result.exit_code == 0, result.output
        folders[kind] = folder / "answers"
    return folders


@pytest.mark.parametrize(("kind", "edit"), [*itertools.product(STUDIES, EDITS), ("chains", "a teacher of oneself")])
def test_an_edited_file_is_refused_in_a_line(kind, edit, simulated, tmp_path, ecsuite):
    shutil.copytree(simulated[kind], tmp_path / "study")
    with closing(sqlite3.connect(tmp_path / "study" / ANSWERS)) as connection, connection:
        connection.executescript(EDITS.get(edit, "UPDATE participants SET teacher = id"))
    codes = set()
    for command in ("status", "report", "export"):
        code, _, err = ecsuite("people", command, "study")
        assert (code, err.count("\n")) in ((0, 0), (3, 1)), (command, err)
        codes.add(code)
    assert 3 in codes or edit not in EDITS
