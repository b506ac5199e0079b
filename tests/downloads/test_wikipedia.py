import gzip
import json
import os
import subprocess
import sys

import pytest

from ecsuite.downloads import downloads
from ecsuite.downloads.downloads import read_sources
from ecsuite.downloads.wikipedia import prepare_wikipedia
from ecsuite.runtime.errors import ConfigError


@pytest.fixture
def prepare(hub, tmp_path):
    return lambda *languages, **options: prepare_wikipedia(languages, tmp_path / "wiki", **options)


def lines(path):
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().split("\n")[:-1]]


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
    pytest.importorskip("datasets")
    import pyarrow
    from pyarrow import parquet

    texts = [f"number {number}\n\n{'x' * 50}" for number in range(12 * 40)]
    shards = tmp_path / "hub" / "20231101.da"
    shards.mkdir(parents=True)
    for shard in range(12):
        rows = [{"id": str(number), "url": "", "title": "", "text": text} for number, text in enumerate(texts)][
            shard * 40 : shard * 40 + 40
        ]
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
