"""What holds here and in the programs that tests start.

One thread a process: tests are small, and run side by side. And no data that the user has downloaded.
"""

import json
import os
import shutil
import sys

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["ECSUITE_DATA"] = os.path.join(os.path.dirname(__file__), "no such folder")

import pytest
import torch

from ecsuite.cli import main

torch.set_num_threads(1)


@pytest.fixture
def ecsuite(monkeypatch, capsys, tmp_path):
    """Runs a command here, in an empty folder: exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def ecsuite(*arguments):
        monkeypatch.setattr(sys, "argv", ["ecsuite", *map(str, arguments)])
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return code, captured.out, captured.err

    return ecsuite


@pytest.fixture
def as_json(ecsuite):
    """What a command prints with --json, which is JSON and nothing else, with silence beside it."""

    def as_json(*arguments):
        code, out, err = ecsuite(*arguments, "--json")
        assert (code, err) == (0, "")
        return json.loads(out)

    return as_json


@pytest.fixture
def files_of_0_1(monkeypatch, tmp_path):
    """Files as version 0.1.0 wrote them, copied into the folder in which commands run."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(os.path.join(os.path.dirname(__file__), "fixtures", "v0.1"), tmp_path, dirs_exist_ok=True)
