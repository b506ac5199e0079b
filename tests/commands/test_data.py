import json
import signal
import sys
from types import SimpleNamespace
from urllib.request import urlopen

import pytest
import typer
from typer.testing import CliRunner

from ecsuite.commands.command_help import expand_options
from ecsuite.commands.data import elcc, wikipedia, wmt14, xtreme
from ecsuite.downloads.xtreme import Origin


@pytest.fixture
def command(monkeypatch, tmp_path):
    """Runs `data` with a hub of ten articles a language and ten pairs; in ECSUITE_DATA where no --out is given."""

    def load_dataset(path, name, **_):
        if name == "20231101.xx":
            raise ValueError("no such config")
        if name == "20231101.stop":
            signal.raise_signal(signal.SIGTERM)
        return [{"text": "abcde", "translation": {"en": "one", "fr": "un"}}] * 10

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    monkeypatch.setenv("ECSUITE_DATA", str(tmp_path))
    before = signal.getsignal(signal.SIGTERM)
    app = typer.Typer()
    for each in (wikipedia, wmt14, xtreme, elcc):
        app.command()(expand_options(each))
    yield lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])
    signal.signal(signal.SIGTERM, before)


def test_pairs(command, tmp_path):
    result = command("wmt14", "--pairs", 5)
    assert result.stdout.splitlines()[2:] == ["en-fr.tsv.gz      5          30", f"In {tmp_path / 'wmt14'}"]
    assert command("wmt14", "--out", tmp_path / "mine.gz", "--pairs", 2).exit_code == 0
    assert (tmp_path / "mine.gz").exists()


def test_tasks_of_xtreme(command, tmp_path, monkeypatch):
    content = tmp_path / "train.json"
    content.write_text("{}")
    origins = {task: (Origin(url=content.as_uri(), member="(.*)", path=rf"{task}/\1"),) for task in ("udpos", "panx")}
    monkeypatch.setattr("ecsuite.downloads.xtreme.ORIGINS", origins)
    monkeypatch.setattr("ecsuite.downloads.web.open_url", urlopen)
    result = command("xtreme", "--tasks", " panx", "--out", tmp_path / "here")
    assert result.stdout.splitlines()[2:] == ["panx      1      2", f"In {tmp_path / 'here'}"]
    told = json.loads(command("xtreme", "--json", "--tasks", "panx").stdout)
    assert told["folder"] == str(tmp_path / "xtreme")
    assert {name: entry["bytes"] for name, entry in told["files"].items()} == {"panx/train.json.gz": 2}


def test_a_terminated_download_leaves_what_is_finished(command, tmp_path):
    result = command("wikipedia", "--languages", "da,stop,eu", "--articles", 2)
    assert result.exit_code == 75
    assert sorted(path.name for path in (tmp_path / "wikipedia").iterdir()) == ["da.jsonl.gz", "sources.json"]
    assert result.stderr.splitlines()[-1] == ("stopped; finished files are stored, and the same command continues")
