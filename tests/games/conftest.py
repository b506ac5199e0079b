"""A game small enough to be trained many times."""

from collections.abc import Callable

import pytest

from ecsuite.config import Experiment, load_experiment
from ecsuite.games.training import Result, train

SMALL = (
    "sender.hidden_size=16",
    "receiver.hidden_size=16",
    "sender.embedding_size=8",
    "receiver.embedding_size=8",
    "training.num_examples=250",
    "training.batch_size=32",
    "training.num_epochs=3",
    "training.evaluate_every=4",
    "training.checkpoint_every=4",
    "training.precision=fp32",
    "evaluation.num_valid=50",
)
"""24 steps, with a short last batch in each epoch."""


@pytest.fixture
def small() -> Callable[..., Experiment]:
    """Makes the small experiment, with changes."""
    return lambda *overrides: load_experiment("disc_tiny", [*SMALL, *overrides])


@pytest.fixture
def run() -> Callable[..., Result]:
    """Trains without a word; notes are added to the list `notes`."""

    def run(experiment, folder, *, resume=False, progress=lambda *_: None, notes=None) -> Result:
        note = (lambda _: None) if notes is None else notes.append
        return train(experiment, folder, resume=resume, device="cpu", progress=progress, note=note)

    return run
