"""Cells against torch's cells with equal weights: states and gradients, for one step and several."""

import pytest
import torch
from torch import nn

from ecsuite.agents.cells import tanh
from ecsuite.agents.registry import CELLS

TORCH = {"rnn": nn.RNNCell, "gru": nn.GRUCell, "lstm": nn.LSTMCell}
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


def make_equal_cells(name, input_size=5, hidden_size=7):
    """Our cell and torch's cell with equal weights."""
    torch.manual_seed(0)
    ours, theirs = CELLS.load(name)(input_size, hidden_size), TORCH[name](input_size, hidden_size)
    with torch.no_grad():
        for source, target in (("input_map", "ih"), ("hidden_map", "hh")):
            for parameter_type in ("weight", "bias"):
                getattr(theirs, f"{parameter_type}_{target}").copy_(
                    getattr(getattr(ours, source), parameter_type)
                )
    return ours, theirs


def run_theirs(cell, inputs, hidden):
    """Torch's cell over (num_steps, batch, input): the hidden states."""
    state, states = (hidden, torch.zeros_like(hidden)) if isinstance(cell, nn.LSTMCell) else hidden, []
    for step in inputs:
        state = cell(step, state)
        states.append(state[0] if isinstance(state, tuple) else state)
    return torch.stack(states)


def run_ours(cell, inputs, hidden, dtype=torch.float32):
    step, states = cell.unroll(dtype), []
    state = None if hidden is None else cell.start(hidden)
    for step_inputs in inputs:
        state = step(step_inputs, state)
        states.append(state[0])
    return torch.stack(states)


def theirs_parameters(cell):
    return [cell.weight_ih, cell.bias_ih, cell.weight_hh, cell.bias_hh]


@pytest.mark.parametrize("name", TORCH)
@pytest.mark.parametrize("num_steps", [1, 6])
def test_states_and_gradients_equal_torch(name, num_steps):
    ours, theirs = make_equal_cells(name)
    inputs = torch.randn(num_steps, 4, 5, requires_grad=True)
    hidden = torch.randn(4, 7, requires_grad=True)
    weights = torch.randn(num_steps, 4, 7)
    expected, states = run_theirs(theirs, inputs, hidden), run_ours(ours, inputs, hidden)
    torch.testing.assert_close(states, expected, **CLOSE)
    expected_grads = torch.autograd.grad(
        (expected * weights).sum(), [inputs, hidden, *theirs_parameters(theirs)]
    )
    gradients = torch.autograd.grad((states * weights).sum(), [inputs, hidden, *ours.parameters()])
    for gradient, reference in zip(gradients, expected_grads, strict=True):
        torch.testing.assert_close(gradient, reference, **CLOSE)


@pytest.mark.parametrize("name", TORCH)
def test_no_state_is_a_state_of_zeros(name):
    ours, theirs = make_equal_cells(name)
    inputs, weights = torch.randn(3, 4, 5), torch.randn(3, 4, 7)
    expected, states = run_theirs(theirs, inputs, torch.zeros(4, 7)), run_ours(ours, inputs, None)
    torch.testing.assert_close(states, expected, **CLOSE)
    expected_grads = torch.autograd.grad((expected * weights).sum(), theirs_parameters(theirs))
    gradients = torch.autograd.grad((states * weights).sum(), list(ours.parameters()))
    for gradient, reference in zip(gradients, expected_grads, strict=True):
        torch.testing.assert_close(gradient, reference, **CLOSE)


@pytest.mark.parametrize("name", TORCH)
def test_without_gradient_the_states_are_the_same(name):
    ours, _ = make_equal_cells(name)
    inputs = torch.randn(3, 4, 5)
    with torch.no_grad():
        without_grad = run_ours(ours, inputs, None)
    torch.testing.assert_close(without_grad, run_ours(ours, inputs, None), **CLOSE)


@pytest.mark.parametrize("name", TORCH)
def test_bf16_is_close_and_trains_fp32_weights(name):
    ours, _ = make_equal_cells(name)
    inputs, weights = torch.randn(4, 8, 5), torch.randn(4, 8, 7)
    exact = run_ours(ours, inputs, None)
    low_precision = run_ours(ours, inputs.bfloat16(), None, torch.bfloat16)
    assert low_precision.dtype == torch.bfloat16
    torch.testing.assert_close(low_precision.float(), exact, rtol=0.05, atol=0.05)
    expected_grads = torch.autograd.grad((exact * weights).sum(), list(ours.parameters()))
    for gradient, reference in zip(
        torch.autograd.grad((low_precision.float() * weights).sum(), list(ours.parameters())),
        expected_grads,
        strict=True,
    ):
        assert gradient.dtype == torch.float32
        assert (gradient - reference).norm() < 0.05 * reference.norm()


@pytest.mark.parametrize("name", TORCH)
def test_initialisation_is_that_of_torch(name):
    """Uniform with bound 1 / sqrt(hidden size)."""
    torch.manual_seed(0)
    parameters = torch.cat([p.detach().flatten() for p in CELLS.load(name)(64, 256).parameters()])
    assert parameters.abs().max() <= 1 / 16
    assert parameters.std().item() == pytest.approx(1 / 16 / 3**0.5, rel=0.02)


def test_tanh_equals_torch():
    values = torch.linspace(-12, 12, 1001)
    torch.testing.assert_close(tanh(values), values.tanh(), rtol=1e-6, atol=1e-6)
