"""Interventions on messages: on sequences with known answers, and on a run."""

import json

import pytest
import torch

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.runs.interventions import _message
from ecsuite.games.runs.run import load_run
from ecsuite.games.training.train import train

IDS = torch.tensor([[1, 2, 3, 0], [2, 2, 0, 0], [3, 0, 0, 0]])


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    changes = ["training.num_examples=1024", "training.num_epochs=4", "evaluation.num_valid=64"]
    train(
        load_experiment("disc_tiny", changes), folder, device="cpu", progress=lambda *_: None, note=lambda _: None
    )  # fmt: skip
    return load_run(folder)


def test_messages_have_no_more_steps_than_they_need():
    """A receiver of a fixed number of places, such as a transformer, has none for more of them."""
    for has_eos, steps in ((True, 4), (False, 3)):
        assert _message(IDS, has_eos, torch.device("cpu")).symbols.shape == (steps, 3)


def test_every_position_and_symbol_has_a_row(run):
    rows = run.intervene("all")
    longest = max(map(len, run.speak(torch.cartesian_prod(torch.arange(4), torch.arange(4)).numpy())))
    for name in ("drop", "replace"):
        assert [row.position for row in rows if row.intervention == name and row.position] == [
            *range(1, longest + 1)
        ]
    assert all(0 <= row.accuracy <= 1 and row.num_messages > 0 for row in rows)
    assert all(row.influence >= 0 for row in rows if row.intervention == "replace")
    json.dumps([row.to_json() for row in rows], allow_nan=False)
