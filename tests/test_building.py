import runpy
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BUILD = ROOT / ".ci" / "build.py"


@pytest.fixture
def shipped(tmp_path):
    """Writes a wheel and a source archive with the files named, and returns what should not be in them."""

    def shipped(*names):
        wheel, source = tmp_path / "a.whl", tmp_path / "a.tar.gz"
        with zipfile.ZipFile(wheel, "w") as packed:
            for name in names:
                packed.writestr(f"ecsuite/{name}", "")
        with tarfile.open(source, "w:gz") as archive:
            for name in names:
                archive.addfile(tarfile.TarInfo(f"ecsuite-0.1.0/{name}"))
        return runpy.run_path(str(BUILD))["faults"](wheel, source)

    return shipped


def test_the_package_may_be_shipped(shipped):
    assert shipped("cli.py", "games/training/train.py", "configs/paper/a.yaml", "commands/templates/a.txt") == []


@pytest.mark.parametrize("name", ["tests/test_cli.py", "benchmarks/a.py", "runs/a/log.jsonl", "docs/start.md"])
def test_what_is_no_part_of_the_package_is_named(shipped, name):
    assert shipped("cli.py", name) == [f"a.whl: ecsuite/{name}", f"a.tar.gz: ecsuite-0.1.0/{name}"]


@pytest.mark.slow
def test_two_builds_are_equal(tmp_path):
    pytest.importorskip("build")
    built = []
    for name in ("first", "second"):
        command = [sys.executable, str(BUILD), str(tmp_path / name), "--no-isolation"]
        subprocess.run(command, check=True, capture_output=True)
        built.append({file.name: file.read_bytes() for file in (tmp_path / name).iterdir()})
    assert built[0] == built[1] and len(built[0]) == 2
