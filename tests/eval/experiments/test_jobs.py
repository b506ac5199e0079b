"""What kept results of runs hold."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

import ecsuite as ec
from ecsuite.corpus import Corpus
from ecsuite.eval.experiments.jobs import unpack
from ecsuite.eval.experiments.result import SweptRun
from ecsuite.runtime.errors import DamagedError


@pytest.mark.parametrize("name", ["../out.json", "/out.json", "code/mine.json", "mine.py", "config.pth"])
def test_a_kept_result_writes_no_file_but_those_of_a_run(tmp_path, name):
    """One of a store that others filled could have written code where it is found by the next import."""
    arrays = tmp_path / "arrays.safetensors"
    save_file({name: np.frombuffer(b"text", dtype=np.uint8)}, arrays)
    with pytest.raises(DamagedError, match="expected files of a run, got"):
        unpack(arrays, tmp_path / "in" / "here")
    assert {file.name for file in tmp_path.rglob("*")} == {"arrays.safetensors", "in", "here"}


def test_the_files_of_a_run_are_written(tmp_path):
    arrays = tmp_path / "arrays.safetensors"
    save_file({"config.yaml": np.frombuffer(b"text", dtype=np.uint8)}, arrays)
    unpack(arrays, tmp_path / "here")
    assert (tmp_path / "here" / "config.yaml").read_text() == "text"


def test_a_sweep_has_scores_as_they_are_printed():
    corpus = Corpus(
        [[1, 2, 0], [2, 1, 0], [1, 1, 0], [2, 2, 0]] * 3, meanings=[[0, 1], [1, 0], [0, 0], [1, 1]] * 3, eos=0
    )
    scores = ec.score(corpus, ["topsim", "posdis"]).scores
    stored = tuple(score.to_json(is_kept=True) for score in scores)
    run = SweptRun(settings={}, seed=1, folder=Path("run"), scores=stored)
    assert run.to_json()["scores"] == [score.to_json() for score in scores]
    assert all("draws" in score["chance"] for score in stored)
