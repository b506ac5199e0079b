"""The training loop: checkpoints, requests to stop, divergence, and schedules."""

import numpy as np
import pytest
import torch
from torch import nn

from ecsuite.eval.models.training import Callbacks, Checkpoint, rate_by_share, train
from ecsuite.files.tensor_files import read_tensors, write_tensors
from ecsuite.jobs.job import Stopped

NUM_UPDATES, NUM_PER_EPOCH = 11, 4


class Killed(Exception):
    """Stands for the sudden end of a process."""


def trained(checkpoint=None, *, killed_after=None, stops_after=None, lr=0.03, batches=None, report=None):
    """Weights after 11 updates, in epochs of 4, with dropout; two generators draw order and noise in turn."""
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(5, 4), nn.Dropout(0.3), nn.Linear(4, 1))
    order, noise = torch.Generator().manual_seed(4), np.random.default_rng(5)
    seen = [] if batches is None else batches

    def inputs_of(row):
        seen.append(row)
        mask = torch.rand(5, generator=order) < 0.5
        shift = torch.from_numpy(noise.normal(size=5)).float()
        return torch.arange(5.0) * mask + shift + row, torch.tensor(row)

    def loss_of(inputs, row):
        return (model(inputs) - row).square().mean()

    def report_progress(share):
        if report is not None:
            report(share)
        if len(seen) == killed_after:
            raise Killed

    train(
        list(model.parameters()),
        lambda: torch.randperm(NUM_PER_EPOCH, generator=order).tolist(),
        inputs_of,
        loss_of,
        total=NUM_UPDATES,
        lr=lr,
        schedule=lambda update: rate_by_share(update / NUM_UPDATES, 0.2),
        weight_decay=0.01,
        generators=[order, noise],
        callbacks=Callbacks(
            report_progress=report_progress,
            checkpoint=checkpoint,
            should_stop=lambda: len(seen) == stops_after,
        ),
    )
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


@pytest.fixture
def checkpoint(tmp_path):
    """Saved after every update; its notes are in `checkpoint.notes`."""
    return Checkpoint(file=tmp_path / "scratch" / "training.safetensors", seconds=0, note=NOTES.append)


@pytest.fixture(autouse=True)
def notes():
    NOTES.clear()
    return NOTES


NOTES: list[str] = []


@pytest.mark.slow
@pytest.mark.parametrize("killed_after", [1, 3, 4, 5, 11])
def test_a_killed_training_goes_on_bit_identically(checkpoint, killed_after):
    """The update that was under way when the process was killed is made again."""
    plain_batches, before, after = [], [], []
    plain = trained(batches=plain_batches)
    with pytest.raises(Killed):
        trained(checkpoint, killed_after=killed_after, batches=before)
    assert torch.equal(trained(checkpoint, batches=after), plain)
    assert before[:-1] + after == plain_batches and NOTES == []


def without(*names):
    return lambda tensors, values: [each.pop(name, None) for name in names for each in (tensors, values)]


OF_ANOTHER_VERSION = {
    "it was written by another version of torch": lambda tensors, values: values.update(torch="1.0"),
    "parameter.0 does not fit this training": without("parameter.0"),
    "parameter.1 does not fit this training": lambda tensors, values: tensors.update(
        {"parameter.1": torch.zeros(7)}
    ),
    "optimizer.0.exp_avg does not fit this training": lambda tensors, values: tensors.update(
        {"optimizer.0.exp_avg": torch.zeros(2)}
    ),
    "it is incomplete": without("now.0"),
    " it is incomplete": without("counts"),
    "it is incomplete ": lambda tensors, values: values.update(counts="abc"),
}


@pytest.mark.parametrize("reason", OF_ANOTHER_VERSION)
def test_a_checkpoint_with_another_content_is_noted(checkpoint, reason):
    """Its checksum is right: another version of ecsuite, or of torch, wrote it."""
    with pytest.raises(Stopped):
        trained(checkpoint, stops_after=5)
    tensors, values = read_tensors(checkpoint.file)
    OF_ANOTHER_VERSION[reason](tensors, values)
    write_tensors(checkpoint.file, tensors, values)
    after = []
    assert torch.equal(trained(checkpoint, batches=after), trained())
    assert len(after) == NUM_UPDATES
    (note,) = NOTES
    assert f"not a usable checkpoint ({reason.strip()}); the training starts again" in note
