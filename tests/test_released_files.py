import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

import ecsuite as ec
from ecsuite.cli import app

RELEASED = Path(__file__).parent / "fixtures" / "released"
VERSIONS = sorted(folder.name for folder in RELEASED.iterdir())


@pytest.fixture(params=VERSIONS)
def released(request, tmp_path, monkeypatch):
    shutil.copytree(RELEASED / request.param, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_values_are_read_as_they_were_written(released):
    run = ec.load_run("finished")
    training = json.loads(Path("finished/metadata.json").read_text())["training"]
    assert run.measures["accuracy"] == training["accuracy"]
    assert len(run.corpus.messages) == len(Path("finished/corpus.jsonl").read_text().splitlines())
    for name in ("finished/scores.json", "score.json", "score_perm.json", "perm/scores.json"):
        written = {each["name"]: each["value"] for each in json.loads(Path(name).read_text())["scores"]}
        values = ec.results(name).to_frame("value")
        read = values[values["unit"] == "whole"].set_index("score")["value"].dropna().to_dict()
        assert written.items() >= read.items() and read
    assert len(ec.results("sweep")) == 4 and ec.results("sweep").to_frame()["accuracy"].notna().all()


COMMANDS = """show finished|score finished|evaluate finished|cite finished|methods sweep|verify finished sweep
train-game game.yaml --device cpu --out finished --resume|compare finished perm|compare table sweep
report sweep finished perm score.json --out page.html|sweep sweep.yaml --on here --out sweep
icy icy_study.yaml --cache icy --plan|people report people"""


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS.replace("\n", "|").split("|"))
def test_commands_take_them(all_draws, released, command):
    done = CliRunner().invoke(app, command.split())
    assert done.exit_code == 0, done.output


@pytest.mark.slow
def test_nothing_that_is_kept_is_computed_again(released):
    done = CliRunner().invoke(app, "sweep sweep.yaml --on here --out sweep --plan --json".split())
    assert done.exit_code == 0, done.output
    assert "4 kept" in done.output or json.loads(done.stdout).get("missing", 0) == 0
