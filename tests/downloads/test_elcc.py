"""The collection of corpora: files come from the hub once, and are compared with its checksums."""

import errno
import hashlib
import json
import os
import shutil
import subprocess
import sys

import pytest
import typer
from hub_server import HubServer, use_hub
from typer.testing import CliRunner

from ecsuite.commands import data
from ecsuite.commands.command_help import expand_options
from ecsuite.downloads import elcc
from ecsuite.downloads.downloads import read_sources
from ecsuite.downloads.elcc import DATASET, OFFLINE_ADVICE, REVISION, prepare_elcc
from ecsuite.runtime.errors import ConfigError

FILES = {
    "README.md": b"# ELCC\n",
    "systems/egg-disc/metadata.yml": b"origin: {}\n",
    "systems/egg-disc/data/4-attr/corpus.jsonl": b"[1, 0]\n[2, 0]\n",
    "systems/egg-disc/data/4-attr/metadata.json": b"{}\n",
    "systems/rlupus/metadata.yml": b"origin: {}\n# of rlupus\n",
    "systems/rlupus/system.json": b'{"game_type": "social deduction"}\n',
    "systems/rlupus/code/run.py": b"raise SystemExit\n",
    "systems/rlupus/data/9-player.run-3/corpus.jsonl": b"[3, 1]\n[2]\n",
    "systems/rlupus/data/9-player.run-3/corpus.json": b"[[3, 1], [2]]\n",
    "systems/rlupus/data/9-player.run-3/metadata.json": b'{"players": 9}\n',
}
WANTED = sorted(
    name
    for name in FILES
    if name.startswith("systems") and "/code/" not in name and not name.endswith("corpus.json")
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


def offline(monkeypatch):
    """Nothing is asked of the network, as where HF_HUB_OFFLINE is set."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


def cached(tmp_path, path):
    (snapshot,) = (tmp_path / "home").glob("hub/*/snapshots/*")
    assert snapshot.name == REVISION
    return snapshot / path


def test_the_corpora_and_their_metadata_and_nothing_else(hub, folder):
    assert prepare_elcc(None, folder) == WANTED
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert files == {*WANTED, "sources.json"}
    for name in WANTED:
        assert (folder / name).read_bytes() == FILES[name] and not (folder / name).is_symlink()
    record = json.loads((folder / "sources.json").read_text())["systems/egg-disc/data/4-attr/corpus.jsonl"]
    content = FILES["systems/egg-disc/data/4-attr/corpus.jsonl"]
    assert record == {
        "dataset": "bboldt/elcc",
        "revision": REVISION,
        "url": f"{elcc.FILES}systems/egg-disc/data/4-attr/corpus.jsonl",
        "bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    assert sorted(hub.downloads()) == WANTED


def test_later_commits_change_nothing(hub, folder):
    hub.add(DATASET, {"systems/else/metadata.yml": b"x"})
    assert prepare_elcc(None, folder) == WANTED


def test_the_cache_needs_no_network(hub, folder, monkeypatch, tmp_path):
    """Neither for a folder that is complete, nor for another."""
    prepare_elcc(None, folder)
    offline(monkeypatch)
    notes = []
    assert prepare_elcc(None, folder, note=notes.append) == WANTED
    assert notes == [
        f"{DATASET}: revision {REVISION[:7]}",
        f"{len(WANTED)} of {len(WANTED)} files: already complete",
    ]
    assert prepare_elcc(["rlupus"], tmp_path / "other") == [name for name in WANTED if "rlupus" in name]


@pytest.mark.parametrize("is_off", [False, True])
def test_what_is_not_in_the_cache_needs_one(hub, folder, monkeypatch, is_off):
    if is_off:
        prepare_elcc(["egg-disc"], folder)
        offline(monkeypatch)
    else:  # nobody listens
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ConfigError) as error:
        prepare_elcc(["rlupus"], folder)
    meaning = "HF_HUB_OFFLINE is set" if is_off else "the connection to the hub failed (ConnectError)"
    assert str(error.value).startswith(f"{DATASET}: {meaning}")
    assert str(error.value).endswith(f". {OFFLINE_ADVICE}") and "\n" not in str(error.value)


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
def test_a_file_that_is_damaged_in_the_cache_is_downloaded_again(hub, folder, tmp_path, name):
    prepare_elcc(None, folder)
    cached(tmp_path, name).write_bytes(FILES[name][::-1])
    shutil.rmtree(folder)
    hub.asked.clear()
    prepare_elcc(None, folder)
    assert hub.downloads() == [name] and (folder / name).read_bytes() == FILES[name]


@pytest.mark.parametrize("name", ["systems/rlupus/metadata.yml", CORPUS])
def test_a_file_with_another_checksum_is_refused(hub, folder, name):
    hub.faults[name] = FILES[name][::-1]
    with pytest.raises(
        ConfigError, match=r"expected the checksum [0-9a-f]+, found [0-9a-f]+; it was damaged"
    ):
        prepare_elcc(["rlupus"], folder)
    assert not (folder / name).exists()
    assert name not in read_sources(folder)
    del hub.faults[name]
    prepare_elcc(["rlupus"], folder)
    assert (folder / name).read_bytes() == FILES[name]


def test_an_interrupted_download_goes_on(hub, folder):
    hub.faults[CORPUS] = 403
    with pytest.raises(ConfigError, match=r"^bboldt/elcc: the hub does not allow it with this login"):
        prepare_elcc(None, folder)
    assert (folder / WANTED[1]).is_file() and not (folder / CORPUS).exists()
    del hub.faults[CORPUS]
    hub.asked.clear()
    prepare_elcc(None, folder)
    assert set(hub.downloads()) <= {name for name in WANTED if "rlupus" in name}


@pytest.mark.slow
def test_a_lost_connection_is_taken_up_again(hub, folder):
    hub.cut[CORPUS] = 3
    prepare_elcc(["rlupus"], folder)
    assert (folder / CORPUS).read_bytes() == FILES[CORPUS] and hub.downloads().count(CORPUS) == 2


def test_systems_by_name(hub, folder):
    assert prepare_elcc(["egg-disc"], folder) == [name for name in WANTED if "egg-disc" in name]
    with pytest.raises(ConfigError, match="unknown system 'rlupu'; did you mean 'rlupus'"):
        prepare_elcc(["rlupu"], folder)


def test_what_is_no_collection_is_refused(hub, folder):
    hub.repositories.clear()
    hub.add(DATASET, {"README.md": b"moved\n"}, sha=REVISION)
    with pytest.raises(ConfigError, match=r"expected paths such as systems/NAME/metadata\.yml, found none"):
        prepare_elcc(None, folder)


@pytest.mark.parametrize("change", ["no data set", "no revision"])
def test_what_the_hub_does_not_have(hub, folder, change):
    hub.repositories.clear()
    if change == "no revision":
        hub.add(DATASET, FILES, sha="1" * 40)
    with pytest.raises(ConfigError, match=r"^bboldt/elcc: there is no (such repository|revision)") as error:
        prepare_elcc(None, folder)
    assert "\n" not in str(error.value)


def test_no_room(hub, folder, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("huggingface_hub.file_download._download_to_tmp_and_move", full)
    with pytest.raises(ConfigError, match=r"^bboldt/elcc: the disk is full .*HF_HOME sets another folder"):
        prepare_elcc(None, folder)


def test_a_file_of_the_user_is_not_overwritten(hub, folder):
    (folder / WANTED[0]).parent.mkdir(parents=True)
    (folder / WANTED[0]).write_text("mine")
    with pytest.raises(ConfigError, match=r"exists, and sources\.json does not have it"):
        prepare_elcc(None, folder)
    assert (folder / WANTED[0]).read_text() == "mine"


def test_a_cache_without_links_is_refused(hub, folder, tmp_path):
    """Nothing says what its files should be."""
    prepare_elcc(None, folder)
    link = cached(tmp_path, WANTED[0])
    link.unlink()
    link.write_bytes(FILES[WANTED[0]])
    shutil.rmtree(folder)
    with pytest.raises(ConfigError, match=r"expected a link to a file that is named by its checksum"):
        prepare_elcc(None, folder)


def test_the_command_says_what_is_there(hub, monkeypatch, tmp_path):
    monkeypatch.setenv("ECSUITE_DATA", str(tmp_path))
    app = typer.Typer()
    app.command()(expand_options(data.elcc))
    result = CliRunner().invoke(app, [])
    assert result.exit_code == 0
    assert result.stdout.splitlines()[2:] == [
        "egg-disc      3     28",
        "rlupus        4     83",
        f"In {tmp_path / 'elcc'}",
    ]


@pytest.mark.slow
def test_the_program_asks_the_hub_that_is_set(hub, tmp_path):
    """Also with the cache that is set, and without a word of the library."""
    surroundings = {**os.environ, **hub.surroundings(tmp_path / "own"), "ECSUITE_DATA": str(tmp_path)}
    program = [sys.executable, "-m", "ecsuite", "data", "elcc", "--systems", "rlupus", "--quiet"]
    done = subprocess.run(program, capture_output=True, text=True, check=False, env=surroundings)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "elcc" / CORPUS).read_bytes() == FILES[CORPUS]
