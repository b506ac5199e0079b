"""Batches contain every pair and block once per epoch; the training loop changes the trainable weights only."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from ecsuite.config import DivergedError
from ecsuite.eval.learning.bart import EMBEDDING, Specials, build, freeze
from ecsuite.eval.learning.checkpoints import Checkpoint
from ecsuite.eval.learning.data import IGNORED
from ecsuite.eval.learning.encoder_decoder import (
    Batch,
    BlockBatches,
    Encoded,
    PairBatches,
    cross_entropy,
    loss_of,
    padded,
    train_encoder_decoder,
)
from ecsuite.eval.learning.training import Followed
from ecsuite.eval.translation.presets import NANO
from ecsuite.jobs.job import Stopped

SPECIAL = Specials.of(300)


def encoded(count: int) -> Encoded:
    """Pairs of 2 to 9 tokens, the first of which is the pair's number."""
    rows = [np.array([index, *[7] * (index % 8), SPECIAL.end]) for index in range(count)]
    return Encoded(sources=rows, targets=rows)


def pairs(count: int) -> PairBatches:
    return PairBatches(encoded(count), 16, SPECIAL, np.random.default_rng(0))


def first_batch() -> Batch:
    data = pairs(40)
    return data.take(data.draw_epoch()[0])


def ignore(share: float) -> None:
    """No progress."""


def trained(model, data, num_tokens, **options):
    train_encoder_decoder(
        model,
        data,
        num_tokens,
        lr=1e-2,
        warmup=0.0,
        weight_decay=0.01,
        precision="fp32",
        **options,
    )


def test_padded():
    table = padded([np.array([1, 2, 3]), np.array([4])], 9)
    np.testing.assert_array_equal(table, [[1, 2, 3], [4, 9, 9]])


def test_an_epoch_has_every_pair_once_and_the_next_another_order():
    data = pairs(100)
    seen, num_tokens = [], 0
    for index in [*data.draw_epoch(), *data.draw_epoch()]:
        batch = data.take(index)
        seen += batch.inputs[:, 0].tolist()
        lengths = (batch.inputs != SPECIAL.pad).sum(1)
        num_tokens += data.num_tokens(index)
        assert data.num_tokens(index) == lengths.sum()
        assert torch.equal(batch.attended.sum(1), lengths)
        assert torch.equal(batch.labels == IGNORED, batch.inputs == SPECIAL.pad)
    assert num_tokens == 2 * sum(map(len, data.encoded.sources))
    assert sorted(seen[:100]) == sorted(seen[100:]) == list(range(100))
    assert seen[:100] != seen[100:]


def test_blocks_are_to_be_restored_whole():
    data = BlockBatches(np.arange(200).reshape(10, 20), 4, SPECIAL, np.random.default_rng(0))
    for _ in range(2):
        order = data.draw_epoch()
        batches = [data.take(index) for index in order]
        assert [len(batch.labels) for batch in batches] == [4, 4, 2]
        labels = torch.cat([batch.labels for batch in batches])
        assert sorted(labels.flatten().tolist()) == list(range(200))
        for index, batch in zip(order, batches, strict=True):
            assert data.num_tokens(index) == batch.labels.numel()
            assert ((batch.inputs == SPECIAL.pad) == (batch.attended == 0)).all()
            assert (batch.inputs == SPECIAL.mask).any()


def test_the_loss_is_the_cross_entropy_of_labels_after_the_start():
    torch.manual_seed(0)
    model = build(NANO.model, 300).eval()
    batch = first_batch()
    before = torch.cat([torch.full((len(batch.labels), 1), SPECIAL.start), batch.labels[:, :-1]], 1)
    before = before.masked_fill(before == IGNORED, SPECIAL.pad)
    logits = model(input_ids=batch.inputs, attention_mask=batch.attended, decoder_input_ids=before).logits
    counts = batch.labels != IGNORED
    expected = -logits.log_softmax(-1)[counts].gather(1, batch.labels[counts][:, None]).mean()
    assert loss_of(model, batch, "fp32").item() == pytest.approx(expected.item(), rel=1e-5)


def test_cross_entropy_does_not_depend_on_the_batch():
    torch.manual_seed(0)
    model = build(NANO.model, 300)
    one, many = (cross_entropy(model, encoded(20), batch, SPECIAL, "fp32") for batch in (1, 7))
    assert one == pytest.approx(many, rel=1e-5)


def test_frozen_tuning_changes_the_embedding_alone():
    torch.manual_seed(0)
    model = build(NANO.model, 300)
    freeze(model)
    before = {name: each.detach().clone() for name, each in model.named_parameters()}
    trained(model, pairs(40), 300)
    changed = [name for name, each in model.named_parameters() if not torch.equal(each, before[name])]
    assert changed == [EMBEDDING]


def test_a_loss_that_is_not_finite_stops_training():
    model = build(NANO.model, 300)
    with torch.no_grad():
        model.model.shared.weight[:] = torch.inf
    with pytest.raises(DivergedError, match="the loss is nan at update 1, after 0% of the training"):
        trained(model, pairs(40), 50)


@pytest.mark.parametrize("kind", ["pairs", "blocks"])
def test_a_resumed_training_ends_with_the_same_weights(kind, tmp_path):
    """Dropout, order and noise go on where they were."""

    def weights(checkpoint=None, stops_after=None):
        torch.manual_seed(0)
        model = build(replace(NANO.model, dropout=0.2), 300)
        rng = np.random.default_rng(0)
        if kind == "pairs":
            data, num_tokens = PairBatches(encoded(40), 16, SPECIAL, rng), 500
        else:
            blocks = np.arange(200).reshape(10, 20)
            data, num_tokens = BlockBatches(blocks, 4, SPECIAL, rng), 3 * blocks.size
        calls = iter(range(1, 99))
        trained(
            model,
            data,
            num_tokens,
            followed=Followed(checkpoint=checkpoint, should_stop=lambda: next(calls) == stops_after),
        )
        return [parameter.detach().clone() for parameter in model.parameters()]

    plain, checkpoint = weights(), Checkpoint(file=tmp_path / "checkpoint.safetensors")
    for _ in range(2):
        with pytest.raises(Stopped):
            weights(checkpoint, stops_after=2)
    assert all(torch.equal(*each) for each in zip(weights(checkpoint), plain, strict=True))
