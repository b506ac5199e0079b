"""The command: results, JSON, and one line for each mistake."""

import json

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from ecsuite.commands.translate import translate
from ecsuite.config import ConfigError

APP = typer.Typer()
APP.command()(translate)


@pytest.fixture
def pairs(tmp_path):
    letters = np.random.default_rng(0).choice(list("abcdefgh"), (60, 4))
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{' '.join(row)}\t{' '.join(row[::-1])}\n" for row in letters))
    return path


def test_the_baseline_and_a_corpus(tmp_path, pairs):
    corpus = tmp_path / "parrots" / "corpus.jsonl"
    corpus.parent.mkdir()
    corpus.write_text("[1, 2, 3]\n[3, 2]\n")
    out, folder = tmp_path / "new" / "result.json", tmp_path / "stages"
    options = ["--pairs", str(pairs), "--preset", "nano", "--cache", str(folder)]
    said = CliRunner().invoke(APP, [str(corpus), *options, "--out", str(out)], catch_exceptions=False)
    assert said.exit_code == 0
    assert "parrots: translation, preset nano, setting full, seed 0; corpus repeated 400 times" in said.stdout
    data = json.loads(out.read_text())
    assert (data["name"], data["is_pretrained"]) == ("parrots", True)
    assert any(folder.glob("results/pretrain-*.safetensors"))
    baseline = CliRunner().invoke(APP, [*options, "--json", "--setting", "frozen"], catch_exceptions=False)
    assert json.loads(baseline.stdout)["name"] == "no_pretrain"
    assert json.loads(baseline.stdout)["setting"] == "frozen"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--setting", "ful"], "unknown setting 'ful'; did you mean 'full'?"),
        (["--preset", "minni"], "unknown preset 'minni'; did you mean 'mini'?"),
        ([], "no such file of sentence pairs"),
    ],
)
def test_mistakes_are_told_in_one_line(tmp_path, options, message):
    arguments = ["--pairs", str(tmp_path / "none.tsv"), "--cache", str(tmp_path), *options]
    said = CliRunner().invoke(APP, arguments)
    assert isinstance(said.exception, ConfigError)
    assert message in str(said.exception)
    assert "\n" not in str(said.exception)
