"""Heads: logits and losses."""

import math

import pytest
import torch

from ecsuite.eval.xtreme.rows import IGNORED
from ecsuite.eval.xtreme.transfer import INIT_STD, LabelHead, SpanHead


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_initial_weights_come_from_the_generator():
    one, same, other = (LabelHead(100, 40, generator(seed)).linear for seed in (0, 0, 1))
    assert torch.equal(one.weight, same.weight) and not torch.equal(one.weight, other.weight)
    assert one.weight.std().item() == pytest.approx(INIT_STD, rel=0.05)
    assert not one.bias.any()


def test_the_loss_of_an_untrained_head_is_uniform():
    nothing = torch.zeros(2, 5, 4)
    mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    labels = torch.full((2, 5), IGNORED)
    labels[0, 1] = 2
    assert LabelHead(4, 3, generator()).loss(nothing, mask, labels).item() == pytest.approx(math.log(3))
    loss = SpanHead(4, 2, generator()).loss(nothing, mask, torch.tensor([[1, 2], [0, 0]]))
    assert loss.item() == pytest.approx((math.log(5) + math.log(3)) / 2)


def test_only_positions_with_targets_count():
    head = LabelHead(4, 3, generator())
    states = torch.randn(1, 3, 4, generator=generator())
    mask = torch.ones(1, 3, dtype=torch.bool)
    targets = torch.tensor([[IGNORED, 1, IGNORED]])
    loss = head.loss(states, mask, targets)
    assert loss.item() == pytest.approx(-head(states)[0, 1].log_softmax(-1)[1].item())
    states[0, 0] = 100.0
    assert head.loss(states, mask, targets).item() == pytest.approx(loss.item())


def test_no_targets_give_loss_0():
    head = LabelHead(4, 3, generator())
    loss = head.loss(torch.ones(1, 2, 4), torch.ones(1, 2, dtype=torch.bool), torch.full((1, 2), IGNORED))
    loss.backward()
    assert loss.item() == 0
    assert not head.linear.weight.grad.any()


def test_start_and_end_differ_and_padding_is_excluded():
    head = SpanHead(2, 2, generator())
    with torch.no_grad():
        head.linear.weight.copy_(torch.tensor([[50.0, 0.0], [0.0, 50.0]]))
    states = torch.zeros(1, 4, 2)
    states[0, 1, 0] = states[0, 2, 1] = 1  # begins at 1, ends at 2
    states[0, 3] = 9  # padding
    mask = torch.tensor([[True, True, True, False]])
    assert head(states)[0].argmax(0).tolist() == [3, 3]
    assert head.loss(states, mask, torch.tensor([[1, 2]])).item() == pytest.approx(0, abs=1e-6)
    assert head.loss(states, mask, torch.tensor([[2, 1]])).item() == pytest.approx(50)
