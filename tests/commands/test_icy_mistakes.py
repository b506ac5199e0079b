"""`ecsuite icy` and `ecsuite grammar` refuse mistakes in one line, before any work."""

from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "icy --protocol end-to-end --model gru --model lstm --receiver gru --plot bars.png",
            "--plot: expected one model and one channel",
        ),
        ("icy --model fc1l --seeds 1 --cache a_file --quiet", "a_file"),
        ("icy --model fc1l --save-corpora a_file", "--save-corpora a_file: expected a folder, got a file"),
    ],
)
def test_where_nothing_can_be_written_or_drawn(ecsuite, line, message):
    Path("a_file").write_text("mine")
    code, out, err = ecsuite(*line.split())
    assert (code, out) == (2, "") and err.startswith(message) and err.count("\n") == 1
    assert Path("a_file").read_text() == "mine"
