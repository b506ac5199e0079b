"""Batches contain every pair and block once per epoch; the training loop changes the trainable weights only."""

import numpy as np
import pytest
import torch

from ecsuite.config import DivergedError
from ecsuite.eval.learning.bart import EMBEDDING, Specials, build, freeze
from ecsuite.eval.learning.data import IGNORED
from ecsuite.eval.learning.training import (
    Batch,
    Encoded,
    block_batches,
    cross_entropy,
    loss_of,
    padded,
    pair_batches,
    schedule,
    train,
)
from ecsuite.eval.translation.presets import NANO

SPECIAL = Specials.of(300)


def encoded(count: int) -> Encoded:
    """Pairs of 2 to 9 tokens, the first of which is the pair's number."""
    rows = [np.array([index, *[7] * (index % 8), SPECIAL.end]) for index in range(count)]
    return Encoded(sources=rows, targets=rows)


def first_batch() -> Batch:
    return next(pair_batches(encoded(40), 1, 16, SPECIAL, np.random.default_rng(0)))


def ignore(number: int) -> None:
    """No progress."""


def test_padded():
    table = padded([np.array([1, 2, 3]), np.array([4])], 9)
    np.testing.assert_array_equal(table, [[1, 2, 3], [4, 9, 9]])


def test_a_pass_has_every_pair_once_and_then_the_next_begins():
    pairs = encoded(100)
    num_tokens = sum(map(len, pairs.sources))
    seen, given = [], 0
    for batch in pair_batches(pairs, 2 * num_tokens, 16, SPECIAL, np.random.default_rng(0)):
        seen += batch.inputs[:, 0].tolist()
        given += batch.num_tokens
        lengths = (batch.inputs != SPECIAL.pad).sum(1)
        assert torch.equal(batch.attended.sum(1), lengths)
        assert torch.equal(batch.labels == IGNORED, batch.inputs == SPECIAL.pad)
    assert given == 2 * num_tokens
    assert sorted(seen[:100]) == sorted(seen[100:]) == list(range(100))
    assert seen[:100] != seen[100:]


def test_blocks_are_to_be_restored_whole():
    blocks = np.arange(200).reshape(10, 20)
    batches = list(block_batches(blocks, 2, 4, SPECIAL, np.random.default_rng(0)))
    assert [len(batch.labels) for batch in batches] == [4, 4, 2] * 2
    for epoch in (batches[:3], batches[3:]):
        labels = torch.cat([batch.labels for batch in epoch])
        assert sorted(labels.flatten().tolist()) == list(range(200))
    for batch in batches:
        assert batch.num_tokens == batch.labels.numel()
        assert ((batch.inputs == SPECIAL.pad) == (batch.attended == 0)).all()
        assert (batch.inputs == SPECIAL.mask).any()


def test_the_loss_is_the_cross_entropy_of_labels_after_the_start():
    torch.manual_seed(0)
    model = build(NANO, 300).eval()
    batch = first_batch()
    before = torch.cat([torch.full((len(batch.labels), 1), SPECIAL.start), batch.labels[:, :-1]], 1)
    before = before.masked_fill(before == IGNORED, SPECIAL.pad)
    logits = model(input_ids=batch.inputs, attention_mask=batch.attended, decoder_input_ids=before).logits
    counts = batch.labels != IGNORED
    expected = -logits.log_softmax(-1)[counts].gather(1, batch.labels[counts][:, None]).mean()
    assert loss_of(model, batch, "fp32").item() == pytest.approx(expected.item(), rel=1e-5)


def test_cross_entropy_does_not_depend_on_the_batch():
    torch.manual_seed(0)
    model = build(NANO, 300)
    one, many = (cross_entropy(model, encoded(20), batch, SPECIAL, "fp32") for batch in (1, 7))
    assert one == pytest.approx(many, rel=1e-5)


def test_frozen_tuning_changes_the_embedding_alone():
    torch.manual_seed(0)
    model = build(NANO, 300)
    freeze(model)
    before = {name: each.detach().clone() for name, each in model.named_parameters()}
    advanced = []
    batches = pair_batches(encoded(40), 300, 16, SPECIAL, np.random.default_rng(0))
    train(
        model, batches, 300, lr=1e-2, warmup=0.0, weight_decay=0.01, precision="fp32", advance=advanced.append
    )
    changed = [name for name, each in model.named_parameters() if not torch.equal(each, before[name])]
    assert changed == [EMBEDDING]
    assert sum(advanced) >= 300


def test_a_loss_that_is_not_finite_stops_training():
    model = build(NANO, 300)
    with torch.no_grad():
        model.model.shared.weight[:] = torch.inf
    with pytest.raises(DivergedError, match="the loss is nan at step 1, 0 of 50 tokens"):
        train(
            model,
            iter([first_batch()]),
            50,
            lr=1e-2,
            warmup=0.0,
            weight_decay=0.01,
            precision="fp32",
            advance=ignore,
        )


def test_the_learning_rate_falls_linearly_after_its_rise():
    assert [schedule(done, 0.0) for done in (0.0, 0.25, 1.0, 1.1)] == [1.0, 0.75, 0.0, 0.0]
    assert [schedule(done, 0.2) for done in (0.0, 0.1, 0.2, 0.6, 1.0)] == pytest.approx(
        [0.01, 0.51, 1.0, 0.5, 0.0]
    )
