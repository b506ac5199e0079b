"""Articles of Wikipedia: a file per language, as many as the authors of XferBench used."""

import gzip
import json
import os
import subprocess
import sys

import pytest

from ecsuite.downloads import downloads, wikipedia
from ecsuite.downloads.downloads import read_sources
from ecsuite.downloads.languages import XFERBENCH_TARGETS
from ecsuite.downloads.wikipedia import NUM_ARTICLES, prepare_wikipedia
from ecsuite.runtime.errors import ConfigError


@pytest.fixture
def prepare(hub, tmp_path):
    """Prepares languages in `tmp_path / "wiki"`."""
    return lambda *languages, **options: prepare_wikipedia(languages, tmp_path / "wiki", **options)


def lines(path):
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().split("\n")[:-1]]


def test_a_line_an_article_in_the_order_of_the_dump(hub, prepare, tmp_path):
    hub.rows["20231101.zh-yue"] = [{"text": "x"}]
    paths = prepare("eu", "da", "zh-yue", "eu")
    assert paths == [tmp_path / "wiki" / f"{code}.jsonl.gz" for code in ("eu", "da", "zh-yue")]
    for path, config in zip(paths, ("eu", "da", "zh-yue"), strict=True):
        assert lines(path) == [row["text"] for row in hub.rows[f"20231101.{config}"]]
    assert hub.asked[0] == (wikipedia.DATASET, "20231101.eu", wikipedia.REVISION)
    assert "Æble".encode() in gzip.decompress(paths[1].read_bytes())
    assert list(read_sources(tmp_path / "wiki")) == sorted(path.name for path in paths)


def test_the_authors_numbers(hub, prepare, monkeypatch):
    assert XFERBENCH_TARGETS == ("da", "eu", "fa", "fi", "he", "id", "ja", "kk", "ro", "ur")
    assert {NUM_ARTICLES[language] for language in XFERBENCH_TARGETS} == {100_000}
    assert {NUM_ARTICLES[language] for language in ("fr", "es", "ru", "zh", "ar", "ko")} == {200_000}
    assert NUM_ARTICLES["hi"] is None and len(NUM_ARTICLES) == 17
    monkeypatch.setitem(wikipedia.NUM_ARTICLES, "da", 1)
    monkeypatch.setitem(wikipedia.NUM_ARTICLES, "eu", None)
    monkeypatch.setattr(wikipedia, "NUM_ARTICLES_ELSE", 2)
    hub.rows["20231101.sv"] = [{"text": letter} for letter in "abc"]
    assert [len(lines(path)) for path in prepare("da", "eu", "sv")] == [1, 3, 2]
    assert [len(lines(path)) for path in prepare("da", "eu", "sv", num_articles=2)] == [2, 2, 2]


def test_finished_languages_stay(hub, prepare, tmp_path):
    hub.faults[2] = OSError("reset by peer")
    hub.rows["20231101.da"] = hub.rows["20231101.da"][:2]
    with pytest.raises(ConfigError, match="Without a network, score with a folder of one text per language"):
        prepare("da", "eu")
    assert sorted(path.name for path in (tmp_path / "wiki").iterdir()) == ["da.jsonl.gz", "sources.json"]


@pytest.mark.parametrize("code", ["", "../da", "DA", "da/", "da-"])
def test_what_is_no_code_is_refused_before_anything_is_done(prepare, tmp_path, code):
    with pytest.raises(ConfigError, match="expected a language code such as da or zh-yue, got"):
        prepare("da", code)
    assert not (tmp_path / "wiki").exists()


@pytest.mark.parametrize(
    ("languages", "number", "message"),
    [
        ((), 3, "expected language codes such as da,eu, got none"),
        (("da",), 0, "expected at least one article, got 0"),
        (("da",), 3, "wiki: expected a folder, got a file"),
    ],
)
def test_impossible_requests_are_refused(prepare, tmp_path, languages, number, message):
    (tmp_path / "wiki").write_text("a file")
    with pytest.raises(ConfigError, match=message):
        prepare(*languages, num_articles=number)


def test_progress_counts_languages_and_their_shares(prepare, monkeypatch):
    monkeypatch.setattr(downloads, "ROWS_BETWEEN_REPORTS", 2)
    reports = []
    prepare("da", "eu", num_articles=3, progress=lambda *report: reports.append(report))
    assert reports == [
        ("da: 2 articles", pytest.approx(2 / 3), 2),
        ("da", 1, 2),
        ("eu: 2 articles", pytest.approx(1 + 2 / 3), 2),
        ("eu", 2, 2),
    ]


CARD = """---
configs:
- {config_name: 20231101.da, data_files: [{split: train, path: 20231101.da/*}]}
- {config_name: 20231101.eu, data_files: [{split: train, path: 20231101.eu/*}]}
---
"""


@pytest.mark.slow
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
from ecsuite.runtime.errors import ConfigError
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
