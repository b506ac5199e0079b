"""Weights as text."""

import pytest
import torch
from torch import nn

from ecsuite.eval.icy.weights import pack, unpack


def test_weights_can_be_packed_and_unpacked():
    torch.manual_seed(0)
    first, other = nn.GRU(3, 4), nn.GRU(3, 4)
    unpack(pack(dict(first.named_parameters())), other)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), other.parameters(), strict=True))


def test_no_weights_can_be_packed():
    assert pack({}) == ""
    unpack("", nn.Tanh())


def test_the_order_of_names_does_not_matter():
    weights = dict(nn.Linear(2, 3).named_parameters())
    assert pack(weights) == pack(dict(reversed(weights.items())))


def test_weights_of_another_shape():
    with pytest.raises(RuntimeError):
        unpack(pack(dict(nn.Linear(2, 3).named_parameters())), nn.Linear(2, 4))
