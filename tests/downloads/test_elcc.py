"""The collection of corpora: files are downloaded once, and compared with the hub's list."""

import hashlib
import io
import json
from email.message import Message
from urllib.error import URLError

import pytest
import typer
from typer.testing import CliRunner

from ecsuite.commands import data
from ecsuite.downloads import elcc
from ecsuite.downloads.elcc import OFFLINE_ADVICE, REVISION, prepare_elcc
from ecsuite.runtime.errors import ConfigError

SYSTEMS = {
    "systems/rlupus/metadata.yml": b"origin: {}\n",
    "systems/rlupus/system.json": b'{"game_type": "social deduction"}\n',
    "systems/rlupus/code/run.py": b"raise SystemExit\n",
    "systems/rlupus/data/9-player.run-3/corpus.jsonl": b"[3, 1]\n[2]\n",
    "systems/rlupus/data/9-player.run-3/corpus.json": b"[[3, 1], [2]]\n",
    "systems/rlupus/data/9-player.run-3/metadata.json": b'{"players": 9}\n',
    "systems/egg-disc/metadata.yml": b"origin: {}\n",
    "systems/egg-disc/data/4-attr/corpus.jsonl": b"[1, 0]\n[2, 0]\n",
    "systems/egg-disc/data/4-attr/metadata.json": b"{}\n",
    "systems/../data/x/corpus.jsonl": b"[1]\n",
}
WANTED = [
    name for name in SYSTEMS if ".." not in name and "/code/" not in name and not name.endswith("corpus.json")
]
LARGE = ("corpus.jsonl", "corpus.json")


def entry(path, content):
    """A file in the hub's list."""
    found = {"type": "file", "path": path, "size": len(content)}
    sha1 = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    if path.endswith(LARGE):
        lfs = {"oid": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 130}
        return found | {"oid": "0" * 40, "lfs": lfs}
    return found | {"oid": sha1}


class Hub:
    """Replaces the hub: two pages of a list, the files, and what was asked for."""

    def __init__(self):
        self.files, self.asked, self.is_reached = dict(SYSTEMS), [], True
        listed = [entry(path, content) for path, content in SYSTEMS.items()]
        directory = {"type": "directory", "path": "systems/rlupus", "oid": "1" * 40, "size": 0}
        self.pages = {elcc.LISTING: [directory, *listed[:4]], elcc.LISTING + "&cursor=x": listed[4:]}

    def open_url(self, request):
        if not self.is_reached:
            raise URLError("no route to host")
        url, headers = request.full_url, Message()
        self.asked.append(url)
        if url in self.pages:
            content = json.dumps(self.pages[url]).encode()
            if url == elcc.LISTING:
                headers["Link"] = f'<{url}&cursor=x>; rel="next"'
        else:
            content = self.files[url.removeprefix(elcc.FILES)]
        headers["Content-Length"] = str(len(content))
        response = io.BytesIO(content)
        response.headers, response.status = headers, 200
        return response


@pytest.fixture
def hub(monkeypatch):
    hub = Hub()
    monkeypatch.setattr("ecsuite.downloads.web.open_url", hub.open_url)
    return hub


def test_the_corpora_and_their_metadata_and_nothing_else(hub, tmp_path):
    assert prepare_elcc(None, tmp_path) == WANTED
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {*WANTED, "files.json", "sources.json"}
    for name in WANTED:
        assert (tmp_path / name).read_bytes() == SYSTEMS[name]
    record = json.loads((tmp_path / "sources.json").read_text())["systems/egg-disc/data/4-attr/corpus.jsonl"]
    content = SYSTEMS["systems/egg-disc/data/4-attr/corpus.jsonl"]
    assert record == {
        "dataset": "bboldt/elcc",
        "revision": REVISION,
        "url": f"{elcc.FILES}systems/egg-disc/data/4-attr/corpus.jsonl",
        "bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def test_a_complete_folder_needs_no_network(hub, tmp_path):
    prepare_elcc(None, tmp_path)
    hub.is_reached = False
    notes = []
    assert prepare_elcc(None, tmp_path, note=notes.append) == WANTED
    assert notes == [f"{len(WANTED)} of {len(WANTED)} files: already complete"]


def test_a_damaged_file_and_a_missing_one_are_downloaded_again(hub, tmp_path):
    prepare_elcc(["rlupus"], tmp_path)
    (tmp_path / WANTED[0]).write_bytes(b"?")
    (tmp_path / WANTED[1]).unlink()
    hub.asked.clear()
    prepare_elcc(["rlupus"], tmp_path)
    assert hub.asked == [elcc.FILES + name for name in WANTED[:2]]
    assert (tmp_path / WANTED[0]).read_bytes() == SYSTEMS[WANTED[0]]


def test_an_interrupted_download_goes_on(hub, tmp_path):
    content = hub.files.pop(WANTED[2])
    with pytest.raises(KeyError):
        prepare_elcc(None, tmp_path)
    assert (tmp_path / WANTED[1]).is_file() and not (tmp_path / WANTED[2]).exists()
    hub.files[WANTED[2]] = content
    hub.asked.clear()
    prepare_elcc(None, tmp_path)
    assert hub.asked == [elcc.FILES + name for name in WANTED[2:]]


@pytest.mark.parametrize("name", ["systems/rlupus/metadata.yml", "systems/egg-disc/data/4-attr/corpus.jsonl"])
def test_a_file_with_another_checksum_is_refused(hub, tmp_path, name):
    hub.files[name] += b"\n"
    with pytest.raises(ConfigError, match=r"expected .*; the file has changed$"):
        prepare_elcc(None, tmp_path)
    assert not (tmp_path / name).exists()
    assert name not in json.loads((tmp_path / "sources.json").read_text())


def test_systems_by_name(hub, tmp_path):
    assert prepare_elcc(["egg-disc"], tmp_path) == [name for name in WANTED if "egg-disc" in name]
    with pytest.raises(ConfigError, match="unknown system 'rlupu'; did you mean 'rlupus'"):
        prepare_elcc(["rlupu"], tmp_path)


def test_what_is_no_list_is_refused(hub, tmp_path):
    hub.pages[elcc.LISTING] = {"error": "moved"}
    with pytest.raises(ConfigError, match="expected a list of files, as the hub sends it"):
        prepare_elcc(None, tmp_path)


def test_a_file_of_the_user_is_not_overwritten(hub, tmp_path):
    (tmp_path / WANTED[0]).parent.mkdir(parents=True)
    (tmp_path / WANTED[0]).write_text("mine")
    with pytest.raises(ConfigError, match=r"exists, and sources\.json does not have it"):
        prepare_elcc(None, tmp_path)
    assert (tmp_path / WANTED[0]).read_text() == "mine"


@pytest.fixture
def command(monkeypatch, tmp_path):
    monkeypatch.setenv("ECSUITE_DATA", str(tmp_path))
    app = typer.Typer()
    app.command()(data.elcc)
    app.command()(data.xtreme)
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


def test_the_command_says_what_is_there(hub, command, tmp_path):
    result = command("elcc")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[2:] == [
        "rlupus        4     71",
        "egg-disc      3     28",
        f"In {tmp_path / 'elcc'}",
    ]


def test_without_a_network_one_line_says_what_to_do(hub, command):
    hub.is_reached = False
    result = command("elcc", "--quiet")
    assert isinstance(result.exception, ConfigError)  # which the program ends with in one line, exit 2
    assert str(result.exception) == (
        "bboldt/elcc at huggingface.co: cannot be read (<urlopen error no route to host>); run the same command again "
        f"to resume. {OFFLINE_ADVICE}"
    )
