"""`ecsuite people`: what it refuses in one line, and evaluating a study."""

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


def refused(ecsuite, *arguments, code=2):
    found, out, err = ecsuite("people", *arguments)
    assert (found, out, err.count("\n")) == (code, "", 1), err
    return err


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
def test_a_broken_study_is_refused(ecsuite, tmp_path, monkeypatch, text, expected):
    monkeypatch.chdir(tmp_path)
    Path("study.yaml").write_text(text)
    assert expected in refused(ecsuite, "serve", "study.yaml")
    assert not Path("runs").exists()


def test_a_consent_that_is_not_filled_in_is_refused(ecsuite, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert ecsuite("people", "new", "mine.yaml")[0] == 0
    assert "consent: fill in **Who is responsible:** [names" in refused(ecsuite, "serve", "mine.yaml")


def test_a_port_in_use_is_refused(ecsuite, folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert f"--port {port}: in use" in refused(
            ecsuite, "serve", "mine.yaml", "--port", port, "--no-browser"
        )


def test_a_second_server_of_a_study_is_refused(ecsuite, folder):
    with only_server(Path("runs/mine")):
        assert "end it first, or choose another folder" in refused(ecsuite, "serve", "mine.yaml")
    assert [file.name for file in Path("runs").iterdir()] == ["mine"]


def test_other_files_are_refused(ecsuite, folder):
    with closing(sqlite3.connect("runs/mine/people.db")) as connection, connection:
        connection.execute("PRAGMA user_version = 9")
    connection.close()
    assert "expected a database of format 1, got 9" in refused(ecsuite, "status", "mine.yaml")
    Path("runs/mine/people.db").write_bytes(b"no database" * 100)
    assert "not a database" in refused(ecsuite, "report", "runs/mine", code=3)
    assert "no such file" in refused(ecsuite, "export", "runs/other")


def test_mistakes_in_the_command(ecsuite):
    assert "did you mean 'status'" in refused(ecsuite, "statu", "x")
    assert "expected a command: try, play, serve, " in refused(ecsuite)
    assert "missing argument 'GRAMMAR'" in refused(ecsuite, "try")
    assert "ecsuite people serve: no such option: --dataset" in refused(
        ecsuite, "serve", "x.yaml", "--dataset", "eng"
    )
    assert "did you mean 'shufdet'" in refused(ecsuite, "try", "shufdt", "--no-browser", "--port", "0")


def test_a_study_is_evaluated_and_forgotten(ecsuite, folder):
    assert ecsuite("people", "status", "mine.yaml")[1].split()[-4:] == ["1", "0", "0", "1"]
    code, out, err = ecsuite("people", "report", "mine.yaml", "--plot", "curves.png", "--out", "report.json")
    assert code == 0 and "Perkins (2021)" in out, err
    assert Path("curves.png").stat().st_size > 1000 and Path("report.json").exists()
    assert "51 trials" in ecsuite("people", "export", "mine.yaml", "--out", "data")[1]
    assert "no participant with this token" in refused(ecsuite, "forget", "nobody")
    assert ecsuite("people", "forget", "token")[0] == 0
    assert ecsuite("people", "status", "mine.yaml")[1].split()[-4:] == ["0", "0", "0", "2"]
