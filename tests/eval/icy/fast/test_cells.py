"""Which cells have kernels; that they compute what the cells do is tested with whole agents."""

import torch

from ecsuite.agents.registry import CELLS
from ecsuite.eval.icy.fast.cells import FUSED_CELLS, tanh_


def test_every_cell_has_a_kernel_or_is_known_to_have_none():
    known = {"rnn", "gru", "lstm", "dgsend", "dgrecv"}
    assert {name for name in CELLS.parts if CELLS.load(name) in FUSED_CELLS} == known


def test_tanh_in_place_is_tanh():
    values = torch.linspace(-30, 30, 601, dtype=torch.float64)
    result = values.clone()
    assert tanh_(result) is result
    torch.testing.assert_close(result, values.tanh(), rtol=1e-12, atol=1e-12)
