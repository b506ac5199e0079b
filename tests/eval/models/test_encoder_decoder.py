"""Batches contain every pair and block once per epoch; the training loop changes the trainable weights only."""

import numpy as np
import pytest
import torch

from ecsuite.eval.models.data import IGNORED
from ecsuite.eval.models.encoder_decoder import (
    EMBEDDING,
    BlockBatches,
    Encoded,
    PairBatches,
    Specials,
    build,
    cross_entropy,
    freeze,
    loss_of,
    padded,
    train_encoder_decoder,
)
from ecsuite.eval.translation.presets import NANO

SPECIAL = Specials.of(300)


def encoded(count: int) -> Encoded:
    """Pairs of 2 to 9 tokens, the first of which is the pair's number."""
    rows = [np.array([index, *[7] * (index % 8), SPECIAL.end]) for index in range(count)]
    return Encoded(sources=rows, targets=rows)


def pairs(count: int) -> PairBatches:
    return PairBatches(encoded(count), 16, SPECIAL, np.random.default_rng(0))


def test_padded():
    table = padded([np.array([1, 2, 3]), np.array([4])], 9)
    np.testing.assert_array_equal(table, [[1, 2, 3], [4, 9, 9]])


def test_an_epoch_has_every_pair_once_and_the_next_another_order():
    data = pairs(100)
    seen, num_tokens = [], 0
    for index in [*data.draw_epoch(), *data.draw_epoch()]:
        batch = data.take(index)
        seen += batch["input_ids"][:, 0].tolist()
        lengths = (batch["input_ids"] != SPECIAL.pad).sum(1)
        num_tokens += data.num_tokens(index)
        assert data.num_tokens(index) == lengths.sum()
        assert torch.equal(batch["attention_mask"].sum(1), lengths)
        assert torch.equal(batch["labels"] == IGNORED, batch["input_ids"] == SPECIAL.pad)
    assert num_tokens == 2 * sum(map(len, data.encoded.sources))
    assert sorted(seen[:100]) == sorted(seen[100:]) == list(range(100))
    assert seen[:100] != seen[100:]


def test_blocks_are_to_be_restored_whole():
    data = BlockBatches(np.arange(200).reshape(10, 20), 4, SPECIAL, np.random.default_rng(0))
    for _ in range(2):
        order = data.draw_epoch()
        batches = [data.take(index) for index in order]
        assert [len(batch["labels"]) for batch in batches] == [4, 4, 2]
        labels = torch.cat([batch["labels"] for batch in batches])
        assert sorted(labels.flatten().tolist()) == list(range(200))
        for index, batch in zip(order, batches, strict=True):
            assert data.num_tokens(index) == batch["labels"].numel()
            assert ((batch["input_ids"] == SPECIAL.pad) == (batch["attention_mask"] == 0)).all()
            assert (batch["input_ids"] == SPECIAL.mask).any()


@pytest.fixture
def model():
    torch.manual_seed(0)
    return build(NANO.model, 300).eval()


def test_the_loss_is_the_cross_entropy_of_labels_after_the_start(model):
    data = pairs(40)
    batch = data.take(data.draw_epoch()[0])
    before = torch.cat([torch.full((len(batch["labels"]), 1), SPECIAL.start), batch["labels"][:, :-1]], 1)
    before = before.masked_fill(before == IGNORED, SPECIAL.pad)
    logits = model(
        input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], decoder_input_ids=before
    ).logits
    counts = batch["labels"] != IGNORED
    expected = -logits.log_softmax(-1)[counts].gather(1, batch["labels"][counts][:, None]).mean()
    assert loss_of(model, batch, "fp32").item() == pytest.approx(expected.item(), rel=1e-5)


def test_cross_entropy_does_not_depend_on_the_batch(model):
    one, many = (cross_entropy(model, encoded(20), batch, SPECIAL, "fp32") for batch in (1, 7))
    assert one == pytest.approx(many, rel=1e-5)


def test_frozen_tuning_changes_the_embedding_alone(model):
    freeze(model)
    before = {name: each.detach().clone() for name, each in model.named_parameters()}
    options = {"lr": 1e-2, "warmup": 0.0, "weight_decay": 0.01, "precision": "fp32"}
    train_encoder_decoder(model, pairs(40), 300, **options)
    changed = [name for name, each in model.named_parameters() if not torch.equal(each, before[name])]
    assert changed == [EMBEDDING]
