"""Batches: messages whole, every symbol a target once, masked spans; encoder-decoders and replicas as in torch."""

import numpy as np
import pytest
import torch
from torch import nn

from ecsuite.eval.models import encoder_decoder as bart
from ecsuite.eval.models.data import IGNORED, Windows, repeat, stretches
from ecsuite.eval.models.replicas import Replicas
from ecsuite.eval.translation.presets import NANO
from ecsuite.runtime.ragged import Ragged


def test_messages_are_whole_and_every_symbol_is_scored_once():
    messages = Ragged.from_rows([[0], [1, 2], [], [3, 4, 5]])
    stream = repeat(messages, 15, np.random.default_rng(0)).tolist()
    assert len(stream) == 15
    for said in (stream[:6], stream[6:12]):
        assert sorted(said) == [0, 1, 2, 3, 4, 5] and said.index(2) == said.index(1) + 1
        assert said.index(5) == said.index(4) + 1 == said.index(3) + 2
    assert len({tuple(repeat(messages, 6, np.random.default_rng(seed))) for seed in range(20)}) == 6
    windows = Windows(symbols=stretches(np.arange(22), 9, 4), num_context=4)
    symbols, targets = windows.take(torch.tensor([2, 0, 1, 3]))
    assert sorted(targets[targets != IGNORED].tolist()) == list(range(1, 21))
    assert symbols[0].tolist() == list(range(8, 16)) and targets[0].tolist() == [IGNORED] * 4 + [13, 14, 15, 16]
    windows = Windows(symbols=stretches(np.array([1, 7, 2, 7]), 4, 4), ignored=7)  # read, never predicted
    assert [each.tolist() for each in windows.take(torch.tensor([0]))] == [[[1, 7, 2]], [[IGNORED, 2, IGNORED]]]


MASK, PAD = 1_000_001, 1_000_000


def filled(whole, seed=0):
    """Remaining symbols, lengths, and whether each original symbol is masked."""
    symbols, lengths = bart.infill(whole, mask=MASK, pad=PAD, rng=np.random.default_rng(seed))
    return symbols, lengths, np.stack([~np.isin(*rows) for rows in zip(whole, symbols, strict=True)])


def blocks(batch, block):
    """Blocks in which every symbol is unique."""
    return np.arange(batch * block).reshape(batch, block)


@pytest.mark.parametrize(("batch", "block"), [(1, 64), (40, 256), (7, 10), (3, 4), (2, 1)])
def test_the_same_share_is_taken_out_of_each_block_and_the_rest_is_in_order(batch, block):
    whole = blocks(batch, block)
    symbols, lengths, is_masked = filled(whole)
    assert (is_masked.sum(1) == round(0.3 * block)).all() and symbols.shape[1] <= block
    for row in range(batch):
        left = symbols[row, : lengths[row]]
        assert (symbols[row, lengths[row] :] == PAD).all() and PAD not in left
        np.testing.assert_array_equal(left[left != MASK], whole[row, ~is_masked[row]])


def test_lengths_of_spans_are_poisson_but_for_the_last():
    lengths = bart.span_lengths(2000, 300, np.random.default_rng(2))
    assert (np.where(lengths >= 0, lengths, 0).sum(1) == 300).all()
    first = lengths[:, :50].ravel()  # far from the end
    assert (first.mean(), first.var()) == pytest.approx((3, 3), abs=0.06)
    assert (first == 0).mean() == pytest.approx(np.exp(-3), abs=0.003)


@pytest.mark.slow
def test_places_are_masked_equally_often_but_near_the_edges():
    """Spans do not cross the edges, so positions near the edges are masked less often, equally on both sides."""
    _, _, is_masked = filled(blocks(4_000, 100), 3)
    share = is_masked.mean(0)
    np.testing.assert_allclose(share[10:-10], 0.3, atol=0.035)
    np.testing.assert_allclose(share[:10], share[:-11:-1], atol=0.035)
    assert share[0] < 0.2


SPECIAL = bart.Specials.of(300)


def encoded(count: int) -> bart.Encoded:
    """Pairs of 2 to 9 tokens, the first of which is the pair's number."""
    rows = [np.array([index, *[7] * (index % 8), SPECIAL.end]) for index in range(count)]
    return bart.Encoded(sources=rows, targets=rows)


def pairs(count: int) -> bart.PairBatches:
    return bart.PairBatches(encoded(count), 16, SPECIAL, np.random.default_rng(0))


@pytest.fixture
def model():
    torch.manual_seed(0)
    return bart.build(NANO.model, 300).eval()


def test_the_loss_is_the_cross_entropy_of_labels_after_the_start_whatever_the_batch(model):
    data = pairs(40)
    batch = data.take(data.draw_epoch()[0])
    before = torch.cat([torch.full((len(batch["labels"]), 1), SPECIAL.start), batch["labels"][:, :-1]], 1)
    before = before.masked_fill(before == IGNORED, SPECIAL.pad)
    given = {name: batch[name] for name in ("input_ids", "attention_mask")}
    logits, counts = model(**given, decoder_input_ids=before).logits, batch["labels"] != IGNORED
    expected = -logits.log_softmax(-1)[counts].gather(1, batch["labels"][counts][:, None]).mean()
    assert bart.loss_of(model, batch, "fp32").item() == pytest.approx(expected.item(), rel=1e-5)
    one, many = (bart.cross_entropy(model, encoded(20), batch, SPECIAL, "fp32") for batch in (1, 7))
    assert one == pytest.approx(many, rel=1e-5)


def test_frozen_tuning_changes_the_embedding_alone(model):
    bart.freeze(model)
    before = {name: each.detach().clone() for name, each in model.named_parameters()}
    options = {"lr": 1e-2, "warmup": 0.0, "weight_decay": 0.01, "precision": "fp32"}
    bart.train_encoder_decoder(model, pairs(40), 300, **options)
    changed = [name for name, each in model.named_parameters() if not torch.equal(each, before[name])]
    assert changed == [bart.EMBEDDING]


CPU = torch.device("cpu")
STEPS = 6


def modules(count=3):
    made = []
    for seed in range(count):
        torch.manual_seed(seed)
        made.append(nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)))
    return made


def replica_batch(seed, step):
    return torch.randn(7, 4, generator=torch.Generator().manual_seed(100 * seed + step))


def replica_loss(forward, seed, step):
    """Replica `seed` has gradients ten times as large as its neighbour's, so that clipping affects them differently."""
    return 10.0**seed * forward(replica_batch(seed, step)).square().sum()


def train_replicas(replicas, seeds, steps):
    """Update replicas, which are those of the given seeds."""
    for step in steps:
        parameters = replicas.parameters()

        def forward(inputs, place, parameters=parameters):
            hidden = (inputs @ parameters["0.weight"][place].T + parameters["0.bias"][place]).tanh()
            return hidden @ parameters["2.weight"][place].T + parameters["2.bias"][place]

        losses = [replica_loss(lambda inputs, at=at: forward(inputs, at), seed, step) for at, seed in enumerate(seeds)]
        replicas.update(torch.stack(losses).sum())


def trained_alone(seed, clip=None, steps=STEPS):
    module = modules()[seed]
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    for step in range(steps):
        optimizer.zero_grad()
        replica_loss(module, seed, step).backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(module.parameters(), clip)
        optimizer.step()
    return module.state_dict()


def assert_same(mine, wanted):
    assert list(mine) == list(wanted)
    for name, value in wanted.items():
        torch.testing.assert_close(mine[name], value, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kept", [[1], [2, 0]])
def test_kept_replicas_continue_unchanged(kept):
    replicas = Replicas(modules(), lr=0.01, clip=None, device=CPU)
    train_replicas(replicas, [0, 1, 2], range(3))
    replicas.keep(kept)
    train_replicas(replicas, kept, range(3, STEPS))
    for place, seed in enumerate(kept):
        assert_same(replicas.replica(place), trained_alone(seed))


@pytest.mark.parametrize("clip", [None, 2.0])
def test_each_replica_is_trained_independently(clip):
    replicas = Replicas(modules(), lr=0.01, clip=clip, device=CPU)
    train_replicas(replicas, [0, 1, 2], range(STEPS))
    for seed in range(3):
        assert_same(replicas.replica(seed), trained_alone(seed, clip))
