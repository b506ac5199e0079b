"""The training loop: checkpoints, requests to stop, divergence, and schedules."""

import json

import numpy as np
import pytest
import torch
from torch import nn

from ecsuite.config import DivergedError
from ecsuite.eval.learning import checkpoints as module
from ecsuite.eval.learning.checkpoints import Checkpoint, Saver
from ecsuite.eval.learning.training import Followed, rate_by_share, rate_by_update, train
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

    def loss_of(row):
        seen.append(row)
        mask = torch.rand(5, generator=order) < 0.5
        shift = torch.from_numpy(noise.normal(size=5)).float()
        return (model(torch.arange(5.0) * mask + shift + row) - row).square().mean()

    def report_progress(share):
        if report is not None:
            report(share)
        if len(seen) == killed_after:
            raise Killed

    train(
        list(model.parameters()),
        lambda: torch.randperm(NUM_PER_EPOCH, generator=order).tolist(),
        loss_of,
        total=NUM_UPDATES,
        lr=lr,
        schedule=lambda update: rate_by_share(update / NUM_UPDATES, 0.2),
        weight_decay=0.01,
        generators=[order, noise],
        followed=Followed(
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


@pytest.mark.parametrize("killed_after", range(1, NUM_UPDATES + 1))
def test_a_killed_training_goes_on_bit_identically(checkpoint, killed_after):
    """The update that was under way when the process was killed is made again."""
    plain_batches, before, after = [], [], []
    plain = trained(batches=plain_batches)
    with pytest.raises(Killed):
        trained(checkpoint, killed_after=killed_after, batches=before)
    assert torch.equal(trained(checkpoint, batches=after), plain)
    assert before[:-1] + after == plain_batches and NOTES == []


def test_random_numbers_after_a_finished_training_are_those_of_an_uninterrupted_one(checkpoint):
    trained(checkpoint)
    uninterrupted = torch.get_rng_state()
    trained(checkpoint)
    assert torch.equal(torch.get_rng_state(), uninterrupted)


@pytest.mark.parametrize("stops_after", [1, 4, 10])
def test_a_training_that_is_asked_to_stop_has_a_checkpoint(tmp_path, stops_after):
    checkpoint, after = Checkpoint(file=tmp_path / "training.safetensors"), []
    with pytest.raises(Stopped):
        trained(checkpoint, stops_after=stops_after)
    assert torch.equal(trained(checkpoint, batches=after), trained())
    assert len(after) == NUM_UPDATES - stops_after


def test_nothing_is_left_to_stop_after_the_last_update(checkpoint):
    assert torch.equal(trained(checkpoint, stops_after=NUM_UPDATES), trained())


def test_without_a_checkpoint_a_training_can_be_stopped():
    with pytest.raises(Stopped):
        trained(stops_after=3)


def test_an_older_checkpoint_does_as_well(checkpoint):
    early = None

    def keep(share):
        nonlocal early
        if checkpoint.file.exists() and early is None:
            early = checkpoint.file.read_bytes()

    with pytest.raises(Killed):
        trained(checkpoint, killed_after=8, report=keep)
    checkpoint.file.write_bytes(early)
    assert torch.equal(trained(checkpoint), trained())


def test_progress_is_reported_after_every_update():
    shares = []
    trained(report=shares.append)
    assert shares == pytest.approx([(update + 1) / NUM_UPDATES for update in range(NUM_UPDATES)])


def flip_a_bit(data):
    return data[:-1] + bytes([data[-1] ^ 1])


def cut(data):
    return data[: len(data) // 2]


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (flip_a_bit, "its checksum does not match its content"),
        (cut, ""),
        (lambda data: b"", ""),
        (lambda data: b"\x02\0\0\0\0\0\0\0{}", ""),
    ],
)
def test_a_damaged_checkpoint_is_not_used(checkpoint, harm, reason):
    with pytest.raises(Stopped):
        trained(checkpoint, stops_after=5)
    checkpoint.file.write_bytes(harm(checkpoint.file.read_bytes()))
    after = []
    assert torch.equal(trained(checkpoint, batches=after), trained())
    assert len(after) == NUM_UPDATES
    (note,) = NOTES
    assert "not a usable checkpoint" in note and reason in note and "starts anew" in note


@pytest.mark.parametrize("change", ["key", "lr"])
def test_a_checkpoint_of_another_training_is_not_used(checkpoint, change):
    with pytest.raises(Stopped):
        trained(checkpoint, stops_after=5)
    other = checkpoint
    if change == "key":
        other = Checkpoint(file=checkpoint.file, key="other", note=NOTES.append)
    lr = 0.02 if change == "lr" else 0.03
    assert torch.equal(trained(other, lr=lr), trained(lr=lr))
    assert [note.partition("(")[2] for note in NOTES] == [
        "it is of another training); the training starts anew"
    ]


def test_large_states_are_saved_less_often(tmp_path, monkeypatch):
    """Saving takes at most three hundredths of the time; here it takes 6 seconds."""
    now = 0.0
    monkeypatch.setattr(module.time, "monotonic", lambda: now)

    def slow_write(*_):
        nonlocal now
        now += 6

    monkeypatch.setattr(module, "write_tensors", slow_write)
    weight = nn.Parameter(torch.zeros(2))
    saver = Saver(Checkpoint(file=tmp_path / "x"), {}, [weight], torch.optim.AdamW([weight]))
    due = []
    while len(due) < 3:
        now += 1
        if saver.is_due:
            due.append(now)
            saver.save(module.Position())
    assert due == [60, 266, 472]


def test_the_loss_is_checked_at_the_first_and_the_last_update():
    weight = nn.Parameter(torch.zeros(2))

    def run(bad):
        losses = iter([torch.nan if update == bad else 1.0 for update in range(1, 4)])
        train(
            [weight],
            lambda: [0],
            lambda _: weight.sum() * 0 + next(losses),
            total=3,
            lr=0.1,
            schedule=lambda _: 1.0,
            weight_decay=0.0,
            generators=[],
        )

    with pytest.raises(DivergedError, match=r"^the loss is nan at update 1, after 0% of the training$"):
        run(1)
    with pytest.raises(DivergedError, match=r"^the loss is nan at update 3, after 67% of the training$"):
        run(3)
    run(99)


def test_weights_that_are_not_finite_after_the_last_update():
    weight = nn.Parameter(torch.ones(2))
    with pytest.raises(DivergedError, match=r"^the weights are not finite after the last update$"):
        train(
            [weight],
            lambda: [0],
            lambda _: weight.sum(),
            total=1,
            lr=1e39,
            schedule=lambda _: 1.0,
            weight_decay=0.0,
            generators=[],
        )


def test_a_checkpoint_is_one_file_without_code(checkpoint):
    with pytest.raises(Stopped):
        trained(checkpoint, stops_after=2)
    assert [file.name for file in checkpoint.file.parent.iterdir()] == ["training.safetensors"]
    data = checkpoint.file.read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    names = {name.partition(".")[0] for name in header}
    assert names == {"__metadata__", "parameter", "optimizer", "before_epoch", "now"}


@pytest.mark.parametrize(
    ("num_updates", "warmup", "wanted"),
    [
        (4, 0, [1, 0.75, 0.5, 0.25]),
        (6, 2, [0.5, 1, 1, 0.75, 0.5, 0.25]),
        (1, 0, [1]),
        # More warm-up updates than updates.
        (2, 4, [0.25, 0.5]),
    ],
)
def test_the_learning_rate_by_update(num_updates, warmup, wanted):
    assert [rate_by_update(update, num_updates, warmup) for update in range(num_updates)] == wanted


def test_the_learning_rate_by_share():
    assert [rate_by_share(done, 0.0) for done in (0.0, 0.25, 1.0, 1.1)] == [1.0, 0.75, 0.0, 0.0]
    assert [rate_by_share(done, 0.2) for done in (0.0, 0.1, 0.2, 0.6, 1.0)] == pytest.approx(
        [0.01, 0.51, 1.0, 0.5, 0.0]
    )
