"""What kept results of runs hold."""

import numpy as np
import pytest
from safetensors.numpy import save_file

from ecsuite.eval.experiments.jobs import unpack
from ecsuite.runtime.errors import DamagedError


@pytest.mark.parametrize("name", ["../out.json", "/out.json", "code/mine.json", "mine.py", "config.pth"])
def test_a_kept_result_writes_no_file_but_those_of_a_run(tmp_path, name):
    """One of a store that others filled could have written code where it is found by the next import."""
    arrays = tmp_path / "arrays.safetensors"
    save_file({name: np.frombuffer(b"text", dtype=np.uint8)}, arrays)
    with pytest.raises(DamagedError, match="which is no file of a run"):
        unpack(arrays, tmp_path / "in" / "here")
    assert {file.name for file in tmp_path.rglob("*")} == {"arrays.safetensors", "in", "here"}


def test_the_files_of_a_run_are_written(tmp_path):
    arrays = tmp_path / "arrays.safetensors"
    save_file({"config.yaml": np.frombuffer(b"text", dtype=np.uint8)}, arrays)
    unpack(arrays, tmp_path / "here")
    assert (tmp_path / "here" / "config.yaml").read_text() == "text"
