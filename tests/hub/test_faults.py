import errno
import json
import os
from pathlib import Path

import pytest

from ecsuite.files.checksums import sealed, sealed_text
from hub_server import LICENCE, Repository

pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # within huggingface_hub


@pytest.fixture
def pull_refused(refused):
    """A pull of `someone/run` that ends with a code and a line, and leaves no folder: the line."""

    def pull_refused(code, address="hf:someone/run"):
        before = {file.name for file in Path().iterdir()}
        err = refused("pull", address, "got", "--quiet", code=code)
        now = {file.name for file in Path().iterdir()}
        assert now >= {name for name in before if not name.endswith(".part")} and "got" not in now
        return err

    return pull_refused


def parts():
    return [file for file in Path().iterdir() if file.name.startswith(".got")]


def change(hub, files):
    hub.add("someone/run", {name: content for name, content in files.items() if content is not None})


CHANGES = [
    ({"corpus.jsonl": b"[1]\n"}, "corpus.jsonl is not what was pushed"),
    ({"scores.json": b"{}"}, "scores.json is not what was pushed"),
    ({"meanings.jsonl": None}, "'meanings.jsonl' is missing"),
    ({"more.py": b"print()"}, "'more.py' was added"),
    ({"croissant.json": b"{}"}, "croissant.json is not one that `ecsuite push` wrote"),
    ({"croissant.json": b'{"conformsTo": [], "distribution": []}'}, "was added"),
]


def test_what_was_changed_on_the_hub_is_refused(hub, pushed, pull_refused):
    for files, told in CHANGES:
        change(hub, pushed | files)
        assert told in pull_refused(3)
        assert parts() == []


def test_bytes_that_differ_from_the_list_are_asked_for_again(ecsuite, hub, pushed, pull_refused):
    content = pushed["metadata.json"]
    hub.faults["metadata.json"] = content.replace(b"1", b"2", 1)
    assert "metadata.json came damaged twice" in pull_refused(2)
    assert hub.downloads().count("metadata.json") == 2
    hub.faults.clear()
    code, _, err = ecsuite("pull", "hf:someone/run", "got", "--quiet")
    assert (code, err) == (0, "") and Path("got/metadata.json").read_bytes() == content
    assert parts() == []


def test_a_kept_part_that_was_changed_is_downloaded_again(ecsuite, hub, pushed, pull_refused):
    hub.faults["log.jsonl"] = 503
    pull_refused(2)
    [part] = parts()
    (part / "config.yaml").write_text("other")
    hub.faults.clear()
    assert ecsuite("pull", "hf:someone/run", "got", "--quiet")[0] == 0
    assert Path("got/config.yaml").read_bytes() == pushed["config.yaml"]


NAMES = "../x.json /x.json a/../../x.json a\\b.json .hidden CORPUS.jsonl a:b a//b a./b".split()
NAMES += ["a\nb.json", " a", "x" * 240, "\u202ea.json"]


def test_a_lost_connection_is_gone_on_with(ecsuite, hub, pushed, pull_refused):
    hub.faults["log.jsonl"] = 503
    assert "the hub answered 503: run the same command again" in pull_refused(2)
    before = {*hub.downloads()}
    assert {"config.yaml", "croissant.json"} <= before and len(parts()) == 1
    hub.faults.clear()
    hub.asked.clear()
    assert ecsuite("pull", "hf:someone/run", "got", "--quiet")[0] == 0
    assert {*hub.downloads()}.isdisjoint(before - {"log.jsonl"})
    assert parts() == [] and not Path("got/.cache").exists()


def test_a_push_that_fails_leaves_what_was_there(ecsuite, hub, pushed, run):
    head = hub.repositories["dataset", "someone/run"].head
    (run / "scores.json").unlink()
    hub.faults["config.yaml"] = 503
    code, out, err = ecsuite("push", run, "hf:someone/run", *LICENCE, "--quiet")
    assert (code, out, err.count("\n")) == (2, "", 1) and "503" in err
    assert hub.repositories["dataset", "someone/run"].head == head


def test_names_that_lead_elsewhere_are_refused_before_anything_is_downloaded(hub, pushed, pull_refused):
    for name in NAMES:
        change(hub, pushed | {name: b"1"})
        assert "the file name" in pull_refused(2)
    assert hub.downloads() == [] and parts() == [] and not Path("../x.json").exists()


def test_what_is_not_there_is_told(hub, pushed, pull_refused):
    assert "no such repository, or it is private" in pull_refused(2, "hf:someone/other")
    assert "there is no revision v9 in it" in pull_refused(2, "hf:someone/run@v9")
    assert "expected an address on the Hugging Face hub" in pull_refused(2, "someone/run")
    hub.add("someone/data", {"a.csv": b"1"})
    assert "expected what `ecsuite push` wrote" in pull_refused(2, "hf:someone/data")


def test_a_hub_that_is_away_and_one_that_may_not_be_asked(hub, pushed, pull_refused, monkeypatch):
    hub.is_down = True
    assert "the connection to the hub failed" in pull_refused(2)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert "HF_HUB_OFFLINE is set" in pull_refused(2)


def test_a_write_that_finds_no_room_is_told(hub, pushed, pull_refused, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("huggingface_hub.file_download._chmod_and_move", full)
    assert "the disk is full" in pull_refused(2)


def test_a_damaged_source_is_not_pushed(ecsuite, hub, run):
    damages = {"corpus.jsonl": b"2", "config.yaml": b"adam", "checkpoint-000000016.safetensors": b"valid"}
    for name, part in damages.items():
        content = (run / name).read_bytes()
        (run / name).write_bytes(content.replace(part, part[:-1] + b"3"))
        code, out, err = ecsuite("push", run, "hf:someone/run", *LICENCE)
        assert (code, out, err.count("\n")) == (3, "", 1) and name in err, err
        (run / name).write_bytes(content)
    assert hub.asked == []


SECRETS = {
    "see /home/anna/data.csv": "a path of a machine (/home/anna/data.csv)",
    "C:\\Users\\anna\\x": "a path of a machine", "hf_" + "a" * 34: "a token of the Hugging Face hub, which",
    "-----BEGIN RSA PRIVATE KEY-----": "a private key", "computed on labserver7.": "the name of this machine",
    "anna@example": "an address of this user",
}  # fmt: skip


def test_what_is_secret_or_of_a_machine_stays_here(ecsuite, refused, hub, run, monkeypatch):
    monkeypatch.setattr("socket.gethostname", lambda: "labserver7.example.org")
    monkeypatch.setattr("getpass.getuser", lambda: "anna")
    for content, told in SECRETS.items():
        (run / "notes.txt").write_text(f"first\n{content}\n")
        err = refused("push", run, "hf:someone/run", *LICENCE)
        assert "notes.txt:2: has" in err and told in err and "a" * 34 not in err
    (run / "notes.txt").write_text("a task-of-agents-that-talk-about-shapes-and-colours, https://x.org/home/a")
    assert ecsuite("push", run, "hf:someone/run", *LICENCE, "--plan")[0] == 0
    assert hub.asked == []


def test_paths_in_records_are_shortened_and_their_checksums_written_anew(ecsuite, hub, run, tmp_path):
    scores = json.loads((run / "scores.json").read_text())
    scores["corpus"]["source_path"] = str(tmp_path / "run" / "corpus.jsonl")
    scores["corpus"]["of"] = "/scratch/lab/birds.npz"
    (run / "scores.json").write_text(json.dumps(sealed(scores)))
    config = (run / "config.yaml").read_bytes()
    config = config.replace(b"a game for a second", b"of /home/anna/lab/birds.csv")
    (run / "config.yaml").write_bytes(sealed_text(config))
    assert ecsuite("push", run, "hf:someone/run", *LICENCE)[0] == 0
    files = hub.files("someone/run")
    assert not [
        each for each in files.values() if any(path in each for path in (b"/scratch", b"/home/", bytes(tmp_path)))
    ]  # fmt: skip
    sent = json.loads(files["scores.json"])
    assert (sent["corpus"]["source_path"], sent["corpus"]["of"]) == ("run/corpus.jsonl", "birds.npz")
    assert ecsuite("pull", "hf:someone/run", "got")[0] == 0
    assert ecsuite("compare", "got", "run")[0] == 0


def test_links_out_of_the_folder_and_what_is_no_result_stay_here(ecsuite, refused, hub, run, tmp_path):
    (run / "model.pt").write_bytes(b"\x80\x04")
    (run / ".cache").mkdir()
    (run / ".cache" / "x.json").write_text("{}")
    os.mkfifo(run / "pipe.json")
    planned = json.loads(ecsuite("push", run, "hf:someone/run", *LICENCE, "--plan", "--json")[1])
    assert planned["left_out"].keys() == {"model.pt", "pipe.json"}
    assert not {"model.pt", "pipe.json"} & {each["name"] for each in planned["files"]}
    (run / "other.csv").symlink_to("/etc/hostname")
    assert "other.csv: a link out of the folder" in refused("push", run, "hf:someone/run", *LICENCE)


def test_what_is_no_result_is_refused(refused, hub, tmp_path):
    (tmp_path / "empty").mkdir()
    for source in ("empty", "nowhere"):
        assert source in refused("push", source, "hf:someone/run", *LICENCE)
    assert hub.repositories == dict[tuple[str, str], Repository]()
