"""Downloads are atomic, deterministic and not repeated; each error is one line."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pytest

from ecsuite.config import ConfigError
from ecsuite.corpus import SECONDS_UNTIL_ABANDONED
from ecsuite.downloads import downloads, wikipedia
from ecsuite.downloads.downloads import data_folder, read_sources
from ecsuite.downloads.languages import XFERBENCH_TARGETS
from ecsuite.downloads.wikipedia import NUM_ARTICLES, prepare_wikipedia

TEXTS = {"da": ["Æble\n\nEt æble er en frugt.", "", 'Sne "og" is'], "eu": ["Sagarra", "Elurra", "Izotza"]}


class Hub:
    """Replaces the library of Hugging Face: a few articles per language, and a record of requests and reads."""

    def __init__(self):
        self.texts = {language: list(texts) for language, texts in TEXTS.items()}
        self.asked, self.num_read, self.faults = [], 0, {}

    def load_dataset(self, path, name, *, revision, split, streaming):
        assert (path, revision, split, streaming) == (wikipedia.DATASET, wikipedia.REVISION, "train", True)
        self.asked.append(name)
        language = name.removeprefix("20231101.")
        if language not in self.texts:
            raise ValueError(
                f"BuilderConfig '{name}' not found. Available: {[f'20231101.{code}' for code in range(300)]}"
            )
        return self.rows(language)

    def rows(self, language):
        for number, text in enumerate(self.texts[language]):
            if (language, number) in self.faults:
                raise self.faults[language, number]
            self.num_read += 1
            yield {"id": str(number), "url": "http", "title": "t", "text": text}


@pytest.fixture
def hub(monkeypatch):
    hub = Hub()
    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=hub.load_dataset))
    return hub


@pytest.fixture
def prepare(tmp_path):
    """Prepares languages in `tmp_path / "wiki"`; the notes are in `prepare.notes`."""

    def prepare(*languages, num_articles=3, **options):
        prepare.notes = []
        return prepare_wikipedia(
            languages, tmp_path / "wiki", num_articles=num_articles, note=prepare.notes.append, **options
        )

    return prepare


def lines(path):
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().split("\n")[:-1]]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_line_an_article_in_the_order_of_the_dump(hub, prepare, tmp_path):
    paths = prepare("eu", "da")
    assert paths == [tmp_path / "wiki" / "eu.jsonl.gz", tmp_path / "wiki" / "da.jsonl.gz"]
    assert [lines(path) for path in paths] == [TEXTS["eu"], TEXTS["da"]]
    assert hub.asked == ["20231101.eu", "20231101.da"]
    assert prepare.notes == [
        "eu.jsonl.gz: downloading wikimedia/wikipedia 20231101.eu from huggingface.co",
        "da.jsonl.gz: downloading wikimedia/wikipedia 20231101.da from huggingface.co",
    ]
    assert "Æble".encode() in gzip.decompress(paths[1].read_bytes())


def test_the_record_says_what_each_file_is(hub, prepare, tmp_path):
    (path,) = prepare("da")
    assert names(path.parent) == ["da.jsonl.gz", "sources.json"]
    assert json.loads((path.parent / "sources.json").read_text()) == {
        "da.jsonl.gz": {
            "dataset": "wikimedia/wikipedia",
            "config": "20231101.da",
            "revision": "97323c5edeffcf4bd6786b4ed0788c84abd24b03",
            "asked": 3,
            "articles": 3,
            "characters": 26 + 0 + 11,
            "sha256": sha256(path.read_bytes()).hexdigest(),
        }
    }
    prepare("eu")
    assert list(read_sources(path.parent)) == ["da.jsonl.gz", "eu.jsonl.gz"]


def test_bytes_depend_on_the_articles_alone(hub, tmp_path):
    (one,) = prepare_wikipedia(["da"], tmp_path / "one", num_articles=2)
    time.sleep(1.1)  # gzip's clock counts seconds
    (two,) = prepare_wikipedia(["da"], tmp_path / "two", num_articles=2)
    assert one.read_bytes() == two.read_bytes()
    hub.texts["da"][1] = "."
    (three,) = prepare_wikipedia(["da"], tmp_path / "three", num_articles=2)
    assert one.read_bytes() != three.read_bytes()


def test_no_more_is_read_than_is_kept(hub, prepare):
    (path,) = prepare("da", num_articles=2)
    assert lines(path) == TEXTS["da"][:2]
    assert hub.num_read == 2


def test_the_authors_numbers(hub, prepare, monkeypatch):
    assert XFERBENCH_TARGETS == ("da", "eu", "fa", "fi", "he", "id", "ja", "kk", "ro", "ur")
    assert {NUM_ARTICLES[language] for language in XFERBENCH_TARGETS} == {100_000}
    assert {NUM_ARTICLES[language] for language in ("fr", "es", "ru", "zh", "ar", "ko")} == {200_000}
    assert NUM_ARTICLES["hi"] is None
    assert len(NUM_ARTICLES) == 17
    monkeypatch.setitem(wikipedia.NUM_ARTICLES, "da", 1)
    monkeypatch.setitem(wikipedia.NUM_ARTICLES, "eu", None)
    monkeypatch.setattr(wikipedia, "NUM_ARTICLES_ELSE", 2)
    hub.texts |= {"hi": ["a", "b"], "sv": ["a", "b", "c"]}
    paths = prepare("da", "eu", "hi", "sv", num_articles=None)
    assert [len(lines(path)) for path in paths] == [1, 3, 2, 2]
    asked = {name: entry["asked"] for name, entry in read_sources(paths[0].parent).items()}
    assert asked == {"da.jsonl.gz": 1, "eu.jsonl.gz": None, "hi.jsonl.gz": None, "sv.jsonl.gz": 2}


def test_fewer_articles_than_asked_are_said(hub, prepare):
    (path,) = prepare("da", num_articles=1000)
    assert lines(path) == TEXTS["da"]
    assert prepare.notes[1] == "da.jsonl.gz: expected 1,000 articles, 20231101.da has 3: all were used"
    assert read_sources(path.parent)[path.name]["articles"] == 3
    prepare("da", num_articles=1000)
    assert len(hub.asked) == 1


def test_what_is_whole_needs_neither_network_nor_library(hub, prepare, monkeypatch):
    before = [path.read_bytes() for path in prepare("da", "eu")]
    monkeypatch.setitem(sys.modules, "datasets", None)
    assert [path.read_bytes() for path in prepare("da", "eu")] == before
    assert prepare.notes == ["da.jsonl.gz: already complete", "eu.jsonl.gz: already complete"]
    assert len(hub.asked) == 2


def test_a_damaged_file_is_made_again(hub, prepare):
    path, other = prepare("da", "eu")
    good = path.read_bytes()
    path.write_bytes(good[:-1])
    assert prepare("da", "eu") == [path, other]
    assert prepare.notes[0] == (
        "da.jsonl.gz: is damaged: its checksum differs from sources.json; downloading it again"
    )
    assert path.read_bytes() == good
    assert hub.asked == ["20231101.da", "20231101.eu", "20231101.da"]


def test_a_file_without_a_record_is_made_again(hub, prepare):
    (path,) = prepare("da")
    good = path.read_bytes()
    (path.parent / "sources.json").unlink()
    path.write_bytes(b"who knows")
    prepare("da")
    assert prepare.notes[0] == "da.jsonl.gz: is not recorded in sources.json; downloading it again"
    assert path.read_bytes() == good


def test_another_number_of_articles_is_another_file(hub, prepare):
    (path,) = prepare("da", num_articles=1)
    prepare("da", num_articles=2)
    assert prepare.notes[0] == "da.jsonl.gz: has 1 articles, expected 2; downloading it again"
    assert lines(path) == TEXTS["da"][:2]


def test_another_revision_is_another_file(hub, prepare, monkeypatch):
    (path,) = prepare("da")
    monkeypatch.setattr(wikipedia, "REVISION", "abc")
    prepare("da")
    assert prepare.notes[0] == (
        "da.jsonl.gz: is wikimedia/wikipedia 20231101.da at revision 97323c5edeffcf4bd6786b4ed0788c84abd24b03;"
        " downloading it again"
    )
    assert read_sources(path.parent)[path.name]["revision"] == "abc"


@pytest.mark.parametrize("fault", [KeyboardInterrupt(), OSError("reset by peer")])
def test_an_interrupted_language_begins_again_and_finished_ones_stay(hub, prepare, tmp_path, fault):
    hub.faults["eu", 2] = fault
    with pytest.raises((KeyboardInterrupt, ConfigError)):
        prepare("da", "eu")
    assert names(tmp_path / "wiki") == ["da.jsonl.gz", "sources.json"]
    hub.faults.clear()
    hub.asked.clear()
    assert [lines(path) for path in prepare("da", "eu")] == [TEXTS["da"], TEXTS["eu"]]
    assert hub.asked == ["20231101.eu"]


def test_a_killed_process_leaves_no_half_file(hub, prepare, tmp_path):
    program = f"""
import os, signal, sys, types
from pathlib import Path
def load_dataset(*_, **__):
    yield {{"text": "the first"}}
    os.kill(os.getpid(), signal.SIGKILL)
sys.modules["datasets"] = types.SimpleNamespace(load_dataset=load_dataset)
from ecsuite.downloads.wikipedia import prepare_wikipedia
prepare_wikipedia(["da"], Path({str(tmp_path / "wiki")!r}))
"""
    killed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    (leftover,) = (tmp_path / "wiki").iterdir()
    assert leftover.name.startswith(".da.jsonl.gz.")
    (path,) = prepare("da")
    assert lines(path) == TEXTS["da"]
    assert leftover.exists(), "a young file may belong to a process that is at work"
    yesterday = time.time() - SECONDS_UNTIL_ABANDONED - 1
    os.utime(leftover, (yesterday, yesterday))
    prepare("da", num_articles=2)
    assert names(path.parent) == ["da.jsonl.gz", "sources.json"]


def test_a_failed_renewal_keeps_the_old_file(hub, prepare):
    (path,) = prepare("da", num_articles=1)
    before, record = path.read_bytes(), read_sources(path.parent)
    hub.faults["da", 1] = TimeoutError()
    with pytest.raises(ConfigError, match=r"lost after 1 articles \(TimeoutError\)"):
        prepare("da", num_articles=3)
    assert (path.read_bytes(), read_sources(path.parent)) == (before, record)


def test_a_connection_that_breaks_off_has_one_line(hub, prepare):
    hub.faults["eu", 2] = RuntimeError("peer closed\nconnection")
    with pytest.raises(ConfigError) as caught:
        prepare("eu")
    assert str(caught.value) == (
        "wikimedia/wikipedia 20231101.eu: connection to huggingface.co lost after 2 articles (RuntimeError: peer"
        " closed connection); run the same command again. Without a network, score with a folder of one text per"
        " language (da.txt, eu.txt.gz …): --targets FOLDER"
    )


@pytest.mark.parametrize("error", [ConnectionError("Couldn't reach it"), Exception("Couldn't reach it")])
def test_no_network_has_one_line_with_the_other_way(monkeypatch, prepare, tmp_path, error):
    def load_dataset(*_, **__):
        raise error

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    with pytest.raises(ConfigError) as caught:
        prepare("da")
    assert str(caught.value) == (
        f"wikimedia/wikipedia 20231101.da: huggingface.co cannot be reached ({type(error).__name__}: Couldn't reach"
        " it). Without a network, score with a folder of one text per language (da.txt, eu.txt.gz …): --targets FOLDER"
    )
    assert names(tmp_path / "wiki") == []


def test_a_language_that_the_hub_lacks(hub, prepare, tmp_path):
    with pytest.raises(ConfigError) as caught:
        prepare("da", "xx")
    message = str(caught.value)
    assert message.startswith(
        "huggingface.co does not have wikimedia/wikipedia 20231101.xx: ValueError: BuilderConfig '20231101.xx' not"
        " found. Available: ['20231101.0',"
    )
    assert message.endswith(" …")
    assert len(message) < 400
    assert names(tmp_path / "wiki") == ["da.jsonl.gz", "sources.json"]


def test_a_language_without_articles(hub, prepare, tmp_path):
    hub.texts["xx"] = []
    with pytest.raises(ConfigError, match=r"wikimedia/wikipedia 20231101\.xx: expected articles, found none"):
        prepare("xx")
    assert names(tmp_path / "wiki") == []


def test_the_library_is_missing(monkeypatch, prepare):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(
        ConfigError,
        match=r"^downloading needs the library `datasets` of Hugging Face: pip install 'ecsuite\[data\]'$",
    ):
        prepare("da")


@pytest.mark.parametrize("code", ["", "../da", "DA", "da/", "da-"])
def test_what_is_no_code_is_refused_before_anything_is_done(hub, prepare, tmp_path, code):
    with pytest.raises(ConfigError, match="expected a language code such as da or zh-yue, got"):
        prepare("da", code)
    assert not (tmp_path / "wiki").exists()


def test_codes_with_hyphens_and_repeated_codes(hub, prepare):
    hub.texts["zh-yue"] = ["x"]
    assert [path.name for path in prepare("zh-yue", "da", "zh-yue")] == ["zh-yue.jsonl.gz", "da.jsonl.gz"]
    assert hub.asked == ["20231101.zh-yue", "20231101.da"]


def test_no_language_no_article_no_folder(prepare, tmp_path):
    with pytest.raises(ConfigError, match="expected language codes such as da,eu, got none"):
        prepare()
    with pytest.raises(ConfigError, match="expected at least one article, got 0"):
        prepare("da", num_articles=0)
    (tmp_path / "wiki").write_text("a file")
    with pytest.raises(ConfigError, match="wiki: expected a folder, got a file"):
        prepare("da")


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"da.jsonl.gz": 1}', "\xff", "[" * 9999, '{"da.jsonl.gz": {"asked": "3"}}']
)
def test_a_foreign_record_is_not_overwritten(hub, prepare, tmp_path, content):
    record = tmp_path / "wiki" / "sources.json"
    record.parent.mkdir()
    record.write_bytes(content.encode("latin-1"))
    with pytest.raises(
        ConfigError,
        match=r"sources\.json: expected a record of downloads; move the file, or choose another folder",
    ):
        prepare("da")
    assert record.read_bytes() == content.encode("latin-1")


def test_progress_counts_languages_and_their_shares(hub, prepare, monkeypatch):
    monkeypatch.setattr(downloads, "ROWS_BETWEEN_REPORTS", 2)
    shown = []
    prepare("da", "eu", num_articles=3, progress=lambda *report: shown.append(report))
    assert shown == [
        ("da: 2 articles", pytest.approx(2 / 3), 2),
        ("da", 1, 2),
        ("eu: 2 articles", pytest.approx(1 + 2 / 3), 2),
        ("eu", 2, 2),
    ]


def test_where_data_are_kept(monkeypatch):
    monkeypatch.setenv("ECSUITE_DATA", "/some/where")
    assert data_folder("wikipedia") == Path("/some/where/wikipedia")
    monkeypatch.setenv("ECSUITE_DATA", "~/data")
    assert data_folder("wmt14") == Path.home() / "data" / "wmt14"
    for unset in (lambda: monkeypatch.setenv("ECSUITE_DATA", ""), lambda: monkeypatch.delenv("ECSUITE_DATA")):
        unset()
        assert data_folder("wikipedia") == Path.home() / ".cache" / "ecsuite" / "wikipedia"


CARD = """---
configs:
- {config_name: 20231101.da, data_files: [{split: train, path: 20231101.da/*}]}
- {config_name: 20231101.eu, data_files: [{split: train, path: 20231101.eu/*}]}
---
"""


def test_the_real_library_streams_shards_in_order_and_lets_go(tmp_path):
    """A data set on disk, laid out as the hub's: twelve shards, of which seven and a half are read."""
    pytest.importorskip("datasets")
    import pyarrow
    from pyarrow import parquet

    texts = [f"number {number}\n\n{'x' * 50}" for number in range(12 * 40)]
    shards = tmp_path / "hub" / "20231101.da"
    shards.mkdir(parents=True)
    for shard in range(12):
        rows = [
            {"id": str(number), "url": "", "title": "", "text": text} for number, text in enumerate(texts)
        ][shard * 40 : shard * 40 + 40]
        file = shards / f"train-{shard:05d}-of-00012.parquet"
        parquet.write_table(pyarrow.Table.from_pylist(rows), file, row_group_size=10)
    (tmp_path / "hub" / "README.md").write_text(CARD)
    program = f"""
from pathlib import Path
from ecsuite.config import ConfigError
from ecsuite.downloads import wikipedia
wikipedia.DATASET = {str(tmp_path / "hub")!r}
folder = Path({str(tmp_path / "wiki")!r})
wikipedia.prepare_wikipedia(["da"], folder, num_articles=300)
try:
    wikipedia.prepare_wikipedia(["xx"], folder)
except ConfigError as error:
    print(error)
"""
    surroundings = {**os.environ, "HF_HOME": str(tmp_path / "cache"), "HF_HUB_OFFLINE": "1", "USE_TORCH": "0"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, env=surroundings
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "20231101.xx: ValueError: BuilderConfig '20231101.xx' not found. Available: [" in done.stdout
    path = tmp_path / "wiki" / "da.jsonl.gz"
    assert lines(path) == texts[:300]
    assert read_sources(path.parent)[path.name]["characters"] == sum(map(len, texts[:300]))
