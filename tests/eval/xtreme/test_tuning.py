"""Fine-tuning: a head learns labels from states, for rows of any length."""

import itertools
import shutil
import tempfile
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from ecsuite.eval.models.backbones import BACKBONES, initial_embedding
from ecsuite.eval.models.training import Callbacks, Checkpoint
from ecsuite.eval.xtreme import transfer as module
from ecsuite.eval.xtreme.presets import XtremeTuning
from ecsuite.eval.xtreme.rows import IGNORED, TokenRows
from ecsuite.eval.xtreme.transfer import LabelHead, finetune, logits_of
from ecsuite.jobs.job import Stopped
from ecsuite.runtime.errors import ConfigError

NUM_SYMBOLS = 9
RULES = XtremeTuning(lr=0.05, epochs=30, batch=4, context=48)
LENGTHS = (3, 7, 5, 4, 6, 3, 8, 5)


def generator(seed=5):
    return torch.Generator().manual_seed(seed)


def parity_rows():
    """Rows whose labels are the parity of symbols."""
    draw = generator(1)
    ids = [torch.randint(1, NUM_SYMBOLS, (length,), generator=draw).tolist() for length in LENGTHS]
    targets = [[IGNORED, *(symbol % 2 for symbol in row[1:])] for row in ids]
    return TokenRows(ids=ids, targets=targets, padding=0)


ROWS = parity_rows()
NUM_TARGETS = ROWS.num_tokens - len(ROWS)


@pytest.fixture
def make(tiny):
    """Builds a backbone and a head."""

    def make(kind="decoder", dropout=0.0):
        backbone = BACKBONES[kind](replace(tiny, dropout=dropout), generator(0))
        weight = initial_embedding(NUM_SYMBOLS, tiny.width, generator())
        backbone.set_embedding(torch.nn.functional.normalize(weight))
        return backbone, LabelHead(backbone.width, 2, generator())

    return make


def train(backbone, head, rows=ROWS, *, trains_backbone=False, parameters=None, callbacks=None, **rules):
    finetune(
        backbone,
        head,
        rows,
        replace(RULES, **rules),
        parameters or [*head.parameters(), *(backbone.parameters() if trains_backbone else ())],
        trains_backbone=trains_backbone,
        generator=generator(),
        **{"callbacks": callbacks} if callbacks else {},
    )


def num_right(backbone, head):
    predicted = [logits.argmax(-1) for logits in logits_of(backbone, head, ROWS)]
    return sum(
        int((row == torch.tensor(target)).sum()) for row, target in zip(predicted, ROWS.targets, strict=True)
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", BACKBONES)
@pytest.mark.parametrize("trains_backbone", [True, False])
def test_labels_are_learnt(make, kind, trains_backbone):
    backbone, head = make(kind)
    before = {name: weight.clone() for name, weight in backbone.named_parameters()}
    train(backbone, head, trains_backbone=trains_backbone, lr=0.01 if trains_backbone else 0.05)
    assert num_right(backbone, head) == NUM_TARGETS
    changed = {not torch.equal(weight, before[name]) for name, weight in backbone.named_parameters()}
    assert changed == {trains_backbone}
    if not trains_backbone:
        assert all(weight.grad is None for weight in backbone.parameters())


@pytest.mark.slow
@pytest.mark.parametrize("trains_backbone", [True, False])
def test_the_same_seed_gives_the_same_weights_and_a_stopped_training_goes_on(make, tmp_path, trains_backbone):
    def run(checkpoint=None, stops_after=None):
        torch.manual_seed(0)
        (backbone, head), calls = make(dropout=0.2), itertools.count(1)
        callbacks = Callbacks(checkpoint=checkpoint, should_stop=lambda: next(calls) == stops_after)
        train(backbone, head, trains_backbone=trains_backbone, callbacks=callbacks, epochs=4, batch=3)
        return torch.cat([each.detach().flatten() for each in (*backbone.parameters(), *head.parameters())])

    checkpoint = Checkpoint(file=tmp_path / "checkpoint")
    for _ in range(2):
        with pytest.raises(Stopped):
            run(checkpoint, stops_after=5)
    assert torch.equal(run(checkpoint), run())


def test_states_beyond_the_limit_of_memory_are_read_from_a_file_and_give_the_same_weights(make, monkeypatch):
    def run():
        backbone, head = make("encoder")
        train(backbone, head, epochs=2)
        return torch.cat([each.detach().flatten() for each in head.parameters()])

    in_memory = run()
    opened = []
    temporary = tempfile.TemporaryFile
    monkeypatch.setattr(module, "MOST_IN_MEMORY", 1000)
    monkeypatch.setattr(
        tempfile, "TemporaryFile", lambda **options: opened.append(temporary(**options)) or opened[-1]
    )
    assert torch.equal(run(), in_memory)
    assert len(opened) == 1


def test_a_disk_without_room_for_states_is_refused(make, monkeypatch):
    monkeypatch.setattr(module, "MOST_IN_MEMORY", 0)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=500))
    with pytest.raises(
        ConfigError,
        match=r"needs .* on the disk for the states of the training examples, and 500 bytes are free",
    ):
        train(*make(), epochs=1)
