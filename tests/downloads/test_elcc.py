import os
import subprocess
import sys

import pytest

from ecsuite.downloads.downloads import read_sources
from ecsuite.downloads.elcc import DATASET, REVISION, prepare_elcc
from ecsuite.runtime.errors import ConfigError
from hub_server import HubServer, use_hub

FILES = {
    "README.md": b"# ELCC\n", "systems/egg-disc/metadata.yml": b"origin: {}\n",
    "systems/egg-disc/data/4-attr/corpus.jsonl": b"[1, 0]\n[2, 0]\n",
    "systems/egg-disc/data/4-attr/metadata.json": b"{}\n",
    "systems/rlupus/metadata.yml": b"origin: {}\n# of rlupus\n",
    "systems/rlupus/system.json": b'{"game_type": "social deduction"}\n',
    "systems/rlupus/code/run.py": b"raise SystemExit\n",
    "systems/rlupus/data/9-player.run-3/corpus.jsonl": b"[3, 1]\n[2]\n",
    "systems/rlupus/data/9-player.run-3/corpus.json": b"[[3, 1], [2]]\n",
    "systems/rlupus/data/9-player.run-3/metadata.json": b'{"players": 9}\n',
}  # fmt: skip
WANTED = sorted(
    set(FILES) - {"README.md", "systems/rlupus/code/run.py", "systems/rlupus/data/9-player.run-3/corpus.json"}
)
CORPUS = "systems/rlupus/data/9-player.run-3/corpus.jsonl"


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """The collection, in a server that the library asks; its cache is `home`."""
    with HubServer() as server, use_hub(monkeypatch, server, tmp_path / "home"):
        server.add(DATASET, FILES, sha=REVISION)
        yield server


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "elcc"


def test_later_commits_change_nothing(hub, folder):
    hub.add(DATASET, {"systems/else/metadata.yml": b"x"})
    assert prepare_elcc(None, folder) == WANTED


def test_a_damaged_file_and_a_missing_one_are_taken_again(hub, folder):
    prepare_elcc(["rlupus"], folder)
    (folder / CORPUS).write_bytes(b"?")
    (folder / "systems/rlupus/system.json").unlink()
    hub.asked.clear()
    notes = []
    prepare_elcc(["rlupus"], folder, note=notes.append)
    assert notes[1] == f"{CORPUS}: is damaged: its checksum differs from sources.json; copying it again"
    assert (folder / CORPUS).read_bytes() == FILES[CORPUS] and not hub.asked
    assert (folder / "systems/rlupus/system.json").is_file()


@pytest.mark.parametrize("name", ["systems/rlupus/metadata.yml", CORPUS])
def test_a_file_with_another_checksum_is_refused(hub, folder, name):
    hub.faults[name] = FILES[name][::-1]
    with pytest.raises(ConfigError, match=r"expected the checksum [0-9a-f]+, found [0-9a-f]+; it was"):
        prepare_elcc(["rlupus"], folder)
    assert not (folder / name).exists()
    assert name not in read_sources(folder)
    del hub.faults[name]
    prepare_elcc(["rlupus"], folder)
    assert (folder / name).read_bytes() == FILES[name]


@pytest.mark.slow
def test_a_lost_connection_is_taken_up_again(hub, folder):
    hub.cut[CORPUS] = 3
    prepare_elcc(["rlupus"], folder)
    assert (folder / CORPUS).read_bytes() == FILES[CORPUS] and hub.downloads().count(CORPUS) == 2


@pytest.mark.slow
def test_the_program_asks_the_hub_that_is_set(hub, tmp_path):
    surroundings = {**os.environ, **hub.surroundings(tmp_path / "own"), "ECSUITE_DATA": str(tmp_path)}
    program = [sys.executable, "-m", "ecsuite", "data", "elcc", "--systems", "rlupus", "--quiet"]
    done = subprocess.run(program, capture_output=True, text=True, check=False, env=surroundings)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "elcc" / CORPUS).read_bytes() == FILES[CORPUS]
