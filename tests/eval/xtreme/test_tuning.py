"""Fine-tuning and retrieval: a head learns labels from states, for rows of any length; stopped tasks go on."""

import itertools
import math
import shutil
import tempfile
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from ecsuite.eval.models.backbones import BACKBONES, initial_embedding
from ecsuite.eval.models.training import Callbacks, Checkpoint
from ecsuite.eval.models.vocabulary import train_subwords
from ecsuite.eval.xtreme import transfer as module
from ecsuite.eval.xtreme.presets import XtremeTuning
from ecsuite.eval.xtreme.rows import IGNORED, TokenRows
from ecsuite.eval.xtreme.transfer import LabelHead, SpanHead, TransferSetting, finetune, logits_of, run_task
from ecsuite.jobs.job import Context, Stopped
from ecsuite.runtime.errors import ConfigError
from xtreme_data import find_examples

NUM_SYMBOLS = 9
RULES = XtremeTuning(lr=0.05, epochs=30, batch=4, context=48)
LENGTHS = (3, 7, 5, 4, 6, 3, 8, 5)


def generator(seed=5):
    return torch.Generator().manual_seed(seed)


DRAW = generator(1)
IDS = [torch.randint(1, NUM_SYMBOLS, (length,), generator=DRAW).tolist() for length in LENGTHS]
TARGETS = [[IGNORED, *(symbol % 2 for symbol in row[1:])] for row in IDS]
ROWS = TokenRows(ids=IDS, targets=TARGETS, padding=0)
"""Rows whose labels are the parity of symbols."""
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


def train(backbone, head, rows=ROWS, *, trains_backbone=False, callbacks=None, **rules):
    trained = [*head.parameters(), *(backbone.parameters() if trains_backbone else ())]
    options = {"trains_backbone": trains_backbone, "generator": generator()}
    options |= {"callbacks": callbacks} if callbacks else {}
    finetune(backbone, head, rows, replace(RULES, **rules), trained, **options)


@pytest.mark.slow
@pytest.mark.parametrize("kind", BACKBONES)
@pytest.mark.parametrize("trains_backbone", [True, False])
def test_labels_are_learnt(make, kind, trains_backbone):
    backbone, head = make(kind)
    before = {name: weight.clone() for name, weight in backbone.named_parameters()}
    train(backbone, head, trains_backbone=trains_backbone, lr=0.01 if trains_backbone else 0.05)
    predicted = [logits.argmax(-1) for logits in logits_of(backbone, head, ROWS)]
    right = [row == torch.tensor(target) for row, target in zip(predicted, ROWS.targets, strict=True)]
    assert sum(int(each.sum()) for each in right) == NUM_TARGETS
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
    opened, temporary = [], tempfile.TemporaryFile

    def counted(**options):
        opened.append(temporary(**options))
        return opened[-1]

    monkeypatch.setattr(module, "MOST_IN_MEMORY", 1000)
    monkeypatch.setattr(tempfile, "TemporaryFile", counted)
    assert torch.equal(run(), in_memory) and len(opened) == 1


def test_a_disk_without_room_for_states_is_refused(make, monkeypatch):
    monkeypatch.setattr(module, "MOST_IN_MEMORY", 0)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=500))
    message = r"needs .* on the disk for the states of the training examples, and 500 bytes are free"
    with pytest.raises(ConfigError, match=message):
        train(*make(), epochs=1)


def test_the_losses_of_heads():
    """Of an untrained head the cross-entropy of equal shares; positions without targets and padding do not count."""
    mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    labels = torch.full((2, 5), IGNORED)
    labels[0, 1] = 2
    nothing = torch.zeros(2, 5, 4)
    assert LabelHead(4, 3, generator()).loss(nothing, mask, labels).item() == pytest.approx(math.log(3))
    loss = SpanHead(4, 2, generator()).loss(nothing, mask, torch.tensor([[1, 2], [0, 0]]))
    assert loss.item() == pytest.approx((math.log(5) + math.log(3)) / 2)
    head, states = LabelHead(4, 3, generator()), torch.randn(2, 5, 4, generator=generator())
    expected = -head(states)[0, 1].log_softmax(-1)[2].item()
    assert head.loss(states, mask, labels).item() == pytest.approx(expected)
    assert head.loss(states, mask, torch.full_like(labels, IGNORED)).item() == 0


SUB_WORDS = train_subwords(["enla deal rula " * 9], 280)


@pytest.fixture
def run(tiny, tiny_preset, write_data, tmp_path):
    """Runs a task with a randomly initialised backbone; returns result and backbone."""

    def run(*, sizes=tiny, test_languages=("en", "de"), should_stop=lambda: False, **others):
        backbone = BACKBONES["decoder"](sizes, generator(0))
        backbone.set_embedding(initial_embedding(SUB_WORDS.size, sizes.width, generator(1)))
        data, progress = write_data("udpos"), []
        usual = {"tuning": tiny_preset.tuning["tagging"], "scope": "head", "swaps_embedding": False}
        usual |= {"max_train": tiny_preset.max_train, "max_test": tiny_preset.max_test}
        found = run_task(
            backbone,
            lambda language: SUB_WORDS,
            TransferSetting(task="udpos", **usual | others),
            find_examples(data, "udpos", "en", "train", is_zero_shot=True),
            [find_examples(data, "udpos", language, "test", is_zero_shot=True) for language in test_languages],
            generator(2),
            Context(
                scratch=tmp_path / "scratch",
                report_progress=lambda label, share: progress.append(share),
                should_stop=should_stop,
            ),
        )
        assert progress[-1] == 1 and progress == sorted(progress)
        return found, backbone

    return run


@pytest.mark.slow
def test_a_simple_task_is_learnt(run, tiny_preset):
    """The test has an unseen word between seen words."""
    tuning = replace(tiny_preset.tuning["tagging"], lr=0.03, epochs=100)
    found, _ = run(tuning=tuning, scope="all", max_train=None, max_test=None, test_languages=("en",))
    metrics = dict.fromkeys(("f1", "precision", "recall", "accuracy"), 100.0)
    assert found["learnt_from"] == "train" and found["by_language"]["en"]["metrics"] == metrics


@pytest.mark.parametrize("scope", ["head", "all"])
def test_a_task_that_was_stopped_goes_on(run, tiny, tiny_preset, tmp_path, scope):
    given = {
        "scope": scope,
        "sizes": replace(tiny, dropout=0.2),
        "tuning": replace(tiny_preset.tuning["tagging"], lr=0.05, epochs=3, batch=4),
        "max_test": None,
    }

    def weights(**others):
        torch.manual_seed(0)
        found, backbone = run(**given, **others)
        return found, torch.cat([each.detach().flatten() for each in backbone.parameters()])

    whole = weights()
    calls = iter(range(99))
    with pytest.raises(Stopped):
        weights(should_stop=lambda: next(calls) == 4)
    assert list((tmp_path / "scratch").iterdir())
    resumed = weights()
    assert resumed[0] == whole[0] and torch.equal(resumed[1], whole[1])
