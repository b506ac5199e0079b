"""On CUDA, trainings whose updates are graphs give the weights of those without, of batches of several shapes."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from ecsuite.eval.models import EncoderDecoderSizes, TransformerSizes
from ecsuite.eval.models import encoder_decoder as bart
from ecsuite.eval.models.backbones import BACKBONES, initial_embedding, train_language_model
from ecsuite.eval.models.data import Windows
from ecsuite.eval.models.gpt2 import LanguageModel
from ecsuite.eval.models.training import Callbacks, Checkpoint
from ecsuite.eval.xferbench.jobs import cross_entropy
from ecsuite.eval.xferbench.jobs import train as train_xferbench
from ecsuite.eval.xtreme.presets import XtremeTuning
from ecsuite.eval.xtreme.rows import IGNORED, TokenRows
from ecsuite.eval.xtreme.transfer import LabelHead, finetune
from ecsuite.jobs.job import Stopped
from ecsuite.runtime import recording
from pretended_cuda.chosen import DEVICE

pytestmark = pytest.mark.device("pretended", "cuda")

SIZES = TransformerSizes(num_layers=1, width=8, num_heads=2, context=64, dropout=0.2)
BART = EncoderDecoderSizes(
    num_layers=1, width=8, num_heads=2, dropout=0.2, feed_forward=8, max_positions=64, vocab_size=20
)
SPECIAL = bart.Specials.of(BART.vocab_size)


def random(seed=0):
    return torch.Generator().manual_seed(seed)


def language_model(callbacks):
    model = LanguageModel(9, SIZES, random()).to("cuda")
    windows = Windows(symbols=torch.randint(9, (11, 17), generator=random(1)), ignored=3, num_context=2)
    options = {"num_epochs": 3, "batch": 2, "lr": 0.1, "weight_decay": 0.1, "generator": random(2)}
    train_xferbench(model, windows, **options, callbacks=callbacks)
    value, number = cross_entropy(model, windows, 2)
    return [*model.parameters(), torch.tensor([value, number])]


def backbone(kind, callbacks):
    model = BACKBONES[kind](SIZES, random())
    model.set_embedding(initial_embedding(9, 8, random(1)))
    model.to("cuda")
    windows = torch.randint(8, (11, 17), generator=random(1))
    train_language_model(
        model, windows, mask_symbol=8, num_epochs=3, batch=2, lr=0.1, parameters=model.parameters(),
        generator=random(2), callbacks=callbacks,
    )  # fmt: skip
    return model.parameters()


def tagger(kind, trains_backbone, callbacks):
    model, head = BACKBONES[kind](SIZES, random()), LabelHead(8, 2, random())
    model.set_embedding(initial_embedding(9, 8, random(1)))
    ids = [[1 + number % 7] * number for number in (3, 4, 5, 20, 33, 40, 50, 60, 64)]
    targets = [[IGNORED, *(number % 2 for number in row[1:])] for row in ids]
    rows = TokenRows(ids=ids, targets=targets, padding=0)
    parameters = [*model.to("cuda").parameters(), *head.to("cuda").parameters()]
    finetune(
        model, head, rows, XtremeTuning(lr=0.1, epochs=5, batch=3, context=64),
        parameters if trains_backbone else list(head.parameters()), trains_backbone=trains_backbone,
        generator=random(2), callbacks=callbacks,
    )  # fmt: skip
    return parameters


def translator(has_blocks, callbacks):
    rng = np.random.default_rng(0)
    if has_blocks:
        data = bart.BlockBatches(rng.integers(15, size=(11, 40)), 2, SPECIAL, rng)
    else:
        lengths = (2, 3, 33, 34)
        rows = [[np.append(rng.integers(15, size=length), SPECIAL.end) for length in lengths] for _ in "st"]
        data = bart.PairBatches(bart.Encoded(sources=rows[0], targets=rows[1][::-1]), 2, SPECIAL, rng)
    model = bart.build(BART, BART.vocab_size).to("cuda")
    bart.train_encoder_decoder(
        model, data, 900, lr=0.1, warmup=0.0, weight_decay=0.1, precision="fp32", callbacks=callbacks
    )
    return model.parameters()


MAX_DIFFERENCE = 0.0 if DEVICE == "pretended" else 1e-3
"""Between weights, which change by 0.5 to 0.9; CUDA rounds sums as it happens to order them."""
KINDS = {
    "language model": (language_model,),
    "encoder": (backbone, "encoder"),
    "tagger": (tagger, "decoder", True),
    "tagger of an encoder": (tagger, "encoder", True),
    "head": (tagger, "decoder", False),
    "translator": (translator, False),
    "restorer": (translator, True),
}


@pytest.fixture
def trained(monkeypatch):
    """The weights of a training, and what recorded its updates."""
    found = []
    make = recording.Recorded.__init__

    def noted(recorded, *arguments, **options):
        make(recorded, *arguments, **options)
        found.append(recorded)

    monkeypatch.setattr(recording.Recorded, "__init__", noted)
    # By default, AdamW makes whole steps of gradients that are nothing but rounding, as those of the biases of keys.
    monkeypatch.setattr(torch.optim, "AdamW", partial(torch.optim.AdamW, eps=1e-3))

    def run(kind, num_before, **callbacks):
        monkeypatch.setattr(recording, "NUM_CALLS_BEFORE_GRAPH", num_before)
        found.clear()
        torch.manual_seed(5)
        function, *arguments = KINDS[kind]
        weights = function(*arguments, Callbacks(**callbacks))
        return [each.detach().cpu() for each in weights], list(found)

    return run


def assert_same(weights, expected):
    torch.testing.assert_close(weights, expected, rtol=0, atol=MAX_DIFFERENCE)


@pytest.mark.parametrize("kind", KINDS)
def test_graphs_give_the_weights_of_updates_one_by_one(trained, kind):
    expected, _ = trained(kind, 10**6)
    weights, recorded = trained(kind, 1)
    assert all(each.replays for each in recorded)
    assert not any(each.reasons for each in recorded), [each.reasons for each in recorded]
    assert_same(weights, expected)


def test_a_stopped_training_goes_on_with_graphs(trained, tmp_path):
    expected, _ = trained("tagger", 1)
    checkpoint, counts = Checkpoint(file=tmp_path / "training.safetensors"), iter(range(99))
    with pytest.raises(Stopped):
        trained("tagger", 1, checkpoint=checkpoint, should_stop=lambda: next(counts) == 8)
    weights, recorded = trained("tagger", 1, checkpoint=replace(checkpoint, seconds=0))
    assert_same(weights, expected)
    assert recorded[0].replays
