"""What released versions wrote (`tests/fixtures/make.py`): kept results are found, and other files are read."""

import json
import shlex
import shutil
from pathlib import Path

import pytest

from ecsuite.jobs.job import import_function

FIXTURES = Path(__file__).parent / "fixtures"
RELEASES = sorted(path.parent.name for path in FIXTURES.glob("v*/commands.json"))
INPUTS = ("game.yaml", "icy_study.yaml", "cbm_study.yaml", "inputs")


@pytest.fixture(params=RELEASES)
def commands(request, monkeypatch, tmp_path):
    """The commands that a release ran, in a folder that has what they wrote."""
    monkeypatch.chdir(tmp_path)
    for name in INPUTS:
        copy = shutil.copytree if (FIXTURES / "v0.1" / name).is_dir() else shutil.copyfile
        copy(FIXTURES / "v0.1" / name, tmp_path / name)
    shutil.copytree(FIXTURES / request.param, tmp_path, dirs_exist_ok=True)
    return [shlex.split(command) for command in json.loads(Path("commands.json").read_text())]


def versions_in(key):
    """The functions in the key of a job and of those that it needs, each with its version."""
    if isinstance(key, dict):
        if key.keys() >= {"function", "version"}:
            yield key["function"], key["version"]
        for value in key.values():
            yield from versions_in(value)
    elif isinstance(key, list):
        for value in key:
            yield from versions_in(value)


def present_version(path):
    """The version of a job function today, as JSON has it."""
    return json.loads(json.dumps(import_function(path).version))


def test_kept_results_are_found(commands, as_json):
    """Where the versions of all jobs are the present ones, nothing is computed again; else only what needs others."""
    for command in commands:
        if "--cache" not in command and command[0] != "sweep":
            continue
        cache = command[command.index("--cache") + 1] if "--cache" in command else "sweep/jobs"
        kept = {
            file.stem.rpartition("-")[2]: json.loads(file.read_text())
            for file in Path(cache, "results").glob("*.json")
        }
        present = {
            digest
            for digest, entry in kept.items()
            if all(present_version(path) == version for path, version in versions_in(entry["key"]))
        }
        planned = as_json(*command, "--plan")["jobs"]
        missing = {job["key"] for job in planned if not job["is_kept"]}
        # Arrays that are too large for a fixture are made again, where a job of another version needs them.
        whole = {digest for digest in present if kept[digest]["arrays"] is None or present == kept.keys()}
        assert kept and planned and not missing & whole, f"{command[0]}: computed again"
        # Of games, keys have every setting: where a version adds one, their runs are computed again.
        is_of_games = command[0] in ("cbm", "sweep")
        assert is_of_games or present != kept.keys() or not missing, f"{command[0]}: jobs of other inputs"


READ = (
    "show finished",
    "table sweep",
    "report finished --out page.html",
    "score finished --metrics topsim",
    "evaluate finished",
)


@pytest.mark.parametrize("line", READ)
def test_files_are_read(commands, ecsuite, line):
    code, out, err = ecsuite(*line.split())
    assert (code, err) == (0, "") and out


@pytest.mark.slow
def test_a_run_goes_on(commands, as_json):
    before = json.loads(Path("finished/metadata.json").read_text())["training"]
    told = as_json("train-game", "game.yaml", *commands[0][2:], "--resume", "--epochs", "3")
    assert told["step"] > before["step"]


def test_small():
    for release in RELEASES:
        assert (
            sum(file.stat().st_size for file in (FIXTURES / release).rglob("*") if file.is_file()) < 200_000
        )
