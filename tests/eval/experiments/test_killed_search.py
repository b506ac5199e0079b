"""A search that is killed goes on with the same trials, and computes no finished job twice."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("optuna")
STUDY = """
base: disc_tiny
seeds: 2
set: {training.num_examples: 512, training.num_epochs: 2, evaluation.num_valid: 64}
search:
  trials: 8
  maximise: topsim
  at_once: 2
  over: {optimizer.lr: [1e-4, 1e-1, log], channel.vocab_size: [3, 20, int]}
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("place", ["here", "local:2"])
def test_killed_at_some_moments(tmp_path, place):
    (tmp_path / "study.yaml").write_text(STUDY)

    def start(folder):
        command = [sys.executable, "-m", "ecsuite.cli", "sweep", "study.yaml", "--on", place, "--out", folder]
        return subprocess.Popen(
            command,
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    assert start("whole").wait() == 0
    kept = tmp_path / "killed" / "jobs" / "results"
    for number in (1, 6, 12):
        process = start("killed")
        while process.poll() is None and len(list(kept.glob("*.json"))) < number:
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    before = {file.name: file.stat().st_mtime_ns for file in kept.glob("*.json")}
    assert len(before) >= 12
    assert start("killed").wait() == 0
    assert {name: (kept / name).stat().st_mtime_ns for name in before} == before
    whole, killed = (
        json.loads(Path(tmp_path, name, "sweep.json").read_bytes()) for name in ("whole", "killed")
    )
    assert killed["search"] == whole["search"] and len(whole["search"]["trials"]) == 8
    assert [run["scores"] for run in killed["runs"]] == [run["scores"] for run in whole["runs"]]
