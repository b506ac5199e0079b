"""Which cells have kernels; that they compute what the cells do is tested with whole agents."""

from ecsuite.agents.registry import CELLS
from ecsuite.eval.icy.fast.cells import FUSED_CELLS


def test_every_cell_has_a_kernel_or_is_known_to_have_none():
    known = {"rnn", "gru", "lstm", "dgsend", "dgrecv"}
    assert {name for name in CELLS.parts if CELLS.load(name) in FUSED_CELLS} == known
