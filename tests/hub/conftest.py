import shutil

import pytest

from hub_server import LICENCE, SMALL, TOKEN, HubServer, use_hub


@pytest.fixture
def hub(monkeypatch, tmp_path_factory):
    monkeypatch.setattr("time.sleep", lambda _: None)  # between tries of the library
    with HubServer() as server, use_hub(monkeypatch, server, tmp_path_factory.mktemp("home"), TOKEN):
        yield server


@pytest.fixture
def run(tmp_path):
    shutil.copytree(SMALL / "finished", tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def pushed(hub, run, ecsuite):
    """The files of a run on the hub, as `someone/run`; the test may change them."""
    code, _, err = ecsuite("push", run, "hf:someone/run", *LICENCE, "--quiet")
    assert (code, err) == (0, "")
    return hub.files("someone/run")
