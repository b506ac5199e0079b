import socket
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ecsuite.people.database import make_database, only_server
from ecsuite.people.kinds import make_kind
from ecsuite.people.session import Sessions
from ecsuite.people.simulated import Memorizer, play
from ecsuite.people.study import read_study

STUDY = "grammars: [concat]\ndatasets: [synth]\nparticipants: 2\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with the study `mine.yaml`, in which one has taken part."""
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(STUDY)
    study = read_study(Path("mine.yaml"))
    database = make_database(study, Path("runs/mine"))
    play(Sessions(make_kind(study, database)), "token", Memorizer())
    database.close()
    return tmp_path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("grammars: [concatt]\n", "did you mean 'concat'"),
        ("grammars: [comp, concat]\n", "a name is given twice"),
        ("participants: 0\n", "expected int >= 1"),
        ("protocol: balancd\n", "balanced"),
        ("people: 3\n", "unknown key 'people'"),
        ("consent: missing.md\n", "missing.md can't be read"),
        ("return_url: prolific\n", "expected a URL"),
        ("platform: mturk\nworker_ids: none\n", "worker_ids: expected hashed or plain"),
        ("name: a/b\n", "expected the name of a folder"),
        ('name: "a\\nb"\n', "expected the name of a folder"),
        ("grammars: [concat\n", "study.yaml:"),
    ],
)
def test_a_broken_study_is_refused(refused, text, expected):
    Path("study.yaml").write_text(text)
    assert expected in refused("people", "serve", "study.yaml")
    assert not Path("runs").exists()


def test_a_consent_that_is_not_filled_in_is_refused(succeeded, refused):
    succeeded("people", "new", "mine.yaml")
    assert "consent: fill in **Who is responsible:** [names" in refused("people", "serve", "mine.yaml")


def test_a_port_in_use_and_a_second_server_of_a_study_are_refused(refused, folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = ("--port", str(taken.getsockname()[1]))
        assert f"{' '.join(port)}: in use" in refused("people", "serve", "mine.yaml", *port, "--no-browser")
    with only_server(Path("runs/mine")):
        assert "end it first, or choose another folder" in refused("people", "serve", "mine.yaml")
    assert [file.name for file in Path("runs").iterdir()] == ["mine"]


def test_other_files_are_refused(refused, folder):
    with closing(sqlite3.connect("runs/mine/people.db")) as connection, connection:
        connection.execute("PRAGMA user_version = 9")
    assert "expected a database of format 1, got 9" in refused("people", "status", "mine.yaml")
    Path("runs/mine/people.db").write_bytes(b"no database" * 100)
    assert "not a database" in refused("people", "report", "runs/mine", code=3)
    assert "no such file" in refused("people", "export", "runs/other")


def test_a_study_is_evaluated_and_forgotten(succeeded, refused, folder):
    def status():
        return succeeded("people", "status", "mine.yaml").split()[-4:]

    assert status() == ["1", "0", "0", "1"]
    out = succeeded("people", "report", "mine.yaml", "--plot", "curves.png", "--out", "report.json")
    assert "Perkins (2021)" in out
    assert Path("curves.png").stat().st_size > 1000 and Path("report.json").exists()
    assert "51 trials" in succeeded("people", "export", "mine.yaml", "--out", "data")
    assert "no participant with this token" in refused("people", "forget", "nobody")
    succeeded("people", "forget", "token")
    assert status() == ["0", "0", "0", "2"]
