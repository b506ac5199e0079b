"""The training loop: checkpoints, requests to stop, divergence, schedules, and resources that it needs."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from ecsuite.eval.models.backbones import BACKBONES, initial_embedding, train_language_model
from ecsuite.eval.models.data import Windows
from ecsuite.eval.models.encoder_decoder import (
    BlockBatches,
    Encoded,
    PairBatches,
    Specials,
    build,
    train_encoder_decoder,
)
from ecsuite.eval.models.gpt2 import LanguageModel
from ecsuite.eval.models.training import Callbacks, Checkpoint, rate_by_share, rate_by_update, train
from ecsuite.eval.translation.presets import NANO as TRANSLATION
from ecsuite.eval.xferbench.jobs import train as train_xferbench
from ecsuite.eval.xferbench.presets import NANO
from ecsuite.files.tensor_files import read_tensors, write_tensors
from ecsuite.jobs.job import Stopped

NUM_UPDATES, NUM_PER_EPOCH = 11, 4


class Killed(Exception):
    """Stands for the sudden end of a process."""


def trained(checkpoint=None, *, killed_after=None, stops_after=None, lr=0.03, batches=None):
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
        if len(seen) == killed_after:
            raise Killed

    train(
        list(model.parameters()),
        lambda: torch.randperm(NUM_PER_EPOCH, generator=order).tolist(),
        inputs_of,
        loss_of,
        total=NUM_UPDATES, lr=lr, schedule=lambda update: rate_by_share(update / NUM_UPDATES, 0.2), weight_decay=0.01,
        generators=[order, noise],
        callbacks=Callbacks(report_progress=report_progress, checkpoint=checkpoint,
                            should_stop=lambda: len(seen) == stops_after),
    )  # fmt: skip
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


@pytest.mark.parametrize("stops_after", [1, 4, 10])
def test_a_training_that_is_asked_to_stop_has_a_checkpoint_without_code(tmp_path, stops_after):
    checkpoint, after = Checkpoint(file=tmp_path / "training.safetensors"), []
    with pytest.raises(Stopped):
        trained(checkpoint, stops_after=stops_after)
    data = checkpoint.file.read_bytes()
    names = {name.partition(".")[0] for name in json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])}
    assert names == {"__metadata__", "parameter", "optimizer", "before_epoch", "now"}
    assert torch.equal(trained(checkpoint, batches=after), trained())
    assert len(after) == NUM_UPDATES - stops_after


DAMAGES = {
    "its checksum does not match its content": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    "cut": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
}


@pytest.mark.parametrize("damage", [*DAMAGES, "another key", "another lr"])
def test_a_checkpoint_that_cannot_be_used_is_noted(checkpoint, damage):
    with pytest.raises(Stopped):
        trained(checkpoint, stops_after=5)
    lr = 0.02 if damage == "another lr" else 0.03
    if damage in DAMAGES:
        checkpoint.file.write_bytes(DAMAGES[damage](checkpoint.file.read_bytes()))
    elif damage == "another key":
        checkpoint = replace(checkpoint, key="other")
    assert torch.equal(trained(checkpoint, lr=lr), trained(lr=lr))
    (note,) = NOTES
    assert "not a usable checkpoint (" in note and note.endswith("); the training starts again")
    assert "another" not in damage or "(it belongs to another training)" in note
    assert "checksum" not in damage or damage in note


@pytest.mark.parametrize(
    ("num_updates", "warmup", "wanted"),
    [
        (4, 0, [1, 0.75, 0.5, 0.25]),
        (6, 2, [0.5, 1, 1, 0.75, 0.5, 0.25]),
        (2, 4, [0.25, 0.5]),  # more warm-up updates than updates
    ],
)
def test_the_learning_rate(num_updates, warmup, wanted):
    assert [rate_by_update(update, num_updates, warmup) for update in range(num_updates)] == wanted
    assert [rate_by_share(done, 0.0) for done in (0.0, 0.25, 1.0, 1.1)] == [1.0, 0.75, 0.0, 0.0]
    by_share = [rate_by_share(done, 0.2) for done in (0.0, 0.1, 0.2, 0.6, 1.0)]
    assert by_share == pytest.approx([0.01, 0.51, 1.0, 0.5, 0.0])


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
    **{
        f"{name} does not fit this training": lambda tensors, _, name=name: tensors.update({name: torch.zeros(7)})
        for name in ("parameter.1", "optimizer.0.exp_avg")
    },
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


WINDOWS = torch.arange(16).repeat(10, 1) % 11
SPECIAL = Specials.of(300)


def random(seed=0):
    return torch.Generator().manual_seed(seed)


def gpt2(callbacks):
    generator = random()
    model = LanguageModel(12, replace(NANO, dropout=0.2), generator)
    options = {"num_epochs": 3, "batch": 4, "lr": 1e-2, "weight_decay": 0.01}
    train_xferbench(model, Windows(symbols=WINDOWS), **options, generator=generator, callbacks=callbacks)
    return model


def backbone(kind, callbacks):
    model = BACKBONES[kind](replace(NANO, dropout=0.2), random())
    model.set_embedding(initial_embedding(12, NANO.width, random(1)))
    options = {"mask_symbol": 11, "num_epochs": 3, "batch": 4, "lr": 1e-2, "parameters": model.parameters()}
    train_language_model(model, WINDOWS, **options, generator=random(2), callbacks=callbacks)
    return model


def bart(kind, callbacks):
    model, rng = build(replace(TRANSLATION.model, dropout=0.2), 300), np.random.default_rng(0)
    if kind == "pairs":
        rows = [np.array([index, *[7] * (index % 8), SPECIAL.end]) for index in range(40)]
        data, num_tokens = PairBatches(Encoded(sources=rows, targets=rows), 16, SPECIAL, rng), 500
    else:
        data, num_tokens = BlockBatches(np.arange(200).reshape(10, 20), 4, SPECIAL, rng), 600
    options = {"lr": 1e-2, "warmup": 0.0, "weight_decay": 0.01, "precision": "fp32"}
    train_encoder_decoder(model, data, num_tokens, **options, callbacks=callbacks)
    return model


TRAININGS = {
    "gpt2": gpt2,
    **{kind: lambda callbacks, kind=kind: backbone(kind, callbacks) for kind in BACKBONES},
    **{kind: lambda callbacks, kind=kind: bart(kind, callbacks) for kind in ("pairs", "blocks")},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAININGS)
def test_a_resumed_training_ends_with_the_same_weights(tmp_path, name):
    def weights(checkpoint=None, stops_after=None):
        torch.manual_seed(0)
        calls = itertools.count(1)
        callbacks = Callbacks(checkpoint=checkpoint, should_stop=lambda: next(calls) == stops_after)
        model = TRAININGS[name](callbacks)
        return torch.cat([weight.detach().flatten() for weight in model.parameters()])

    checkpoint = Checkpoint(file=tmp_path / "checkpoint")
    for _ in range(2):
        with pytest.raises(Stopped):
            weights(checkpoint, stops_after=2)
    resumed = weights(checkpoint)
    assert torch.equal(resumed, weights())
    assert torch.equal(weights(), resumed)  # with the same seed
