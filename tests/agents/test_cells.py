"""Layers and cells against torch's with equal weights, and others against formulas in NumPy."""

import numpy as np
import pytest
import torch
from torch import nn

from ecsuite.agents.linear import Linear, SymbolEmbedding
from ecsuite.agents.recurrence import tanh
from ecsuite.agents.registry import CELLS
from ecsuite.runtime.errors import ConfigError

TORCH = ["rnn", "gru", "lstm"]
CLOSE = {"rtol": 1e-5, "atol": 1e-5}
HIDDEN, BATCH = 6, 3


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


def assert_close(found, expected):
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, **CLOSE)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", TORCH)
@pytest.mark.parametrize("num_steps", [1, 6])
def test_states_and_gradients_equal_torch(torch_cell, name, num_steps):
    ours = CELLS.load(name)(5, 7)
    theirs = torch_cell(name, ours)
    inputs, hidden = torch.randn(num_steps, 4, 5), torch.randn(4, 7)
    leaves, weights = [inputs.requires_grad_(), hidden.requires_grad_()], torch.randn(num_steps, 4, 7)
    expected, states = run_theirs(theirs, inputs, hidden), run_ours(ours, inputs, hidden)
    torch.testing.assert_close(states, expected, **CLOSE)
    of_theirs = [theirs.weight_ih, theirs.bias_ih, theirs.weight_hh, theirs.bias_hh]
    assert_close(
        torch.autograd.grad((states * weights).sum(), [*leaves, *ours.parameters()]),
        torch.autograd.grad((expected * weights).sum(), [*leaves, *of_theirs]),
    )


@pytest.mark.parametrize("name", TORCH)
def test_bf16_is_close_and_trains_fp32_weights_that_begin_as_torchs(name):
    torch.manual_seed(0)
    ours = CELLS.load(name)(5, 7)
    inputs, weights = torch.randn(4, 8, 5), torch.randn(4, 8, 7)
    exact, rounded = run_ours(ours, inputs, None), run_ours(ours, inputs.bfloat16(), None, torch.bfloat16)
    assert rounded.dtype == torch.bfloat16
    torch.testing.assert_close(rounded.float(), exact, rtol=0.05, atol=0.05)
    found, expected = (
        torch.autograd.grad((each.float() * weights).sum(), list(ours.parameters())) for each in (rounded, exact)
    )
    for gradient, reference in zip(found, expected, strict=True):
        assert gradient.dtype == torch.float32 and (gradient - reference).norm() < 0.05 * reference.norm()
    # Uniform with bound 1 / sqrt(hidden size).
    parameters = torch.cat([p.detach().flatten() for p in CELLS.load(name)(64, 256).parameters()])
    assert parameters.abs().max() <= 1 / 16
    assert parameters.std().item() == pytest.approx(1 / 16 / 3**0.5, rel=0.02)


def test_tanh_equals_torch():
    values = torch.linspace(-12, 12, 1001)
    torch.testing.assert_close(tanh(values), values.tanh(), rtol=1e-6, atol=1e-6)


def sigmoid(values):
    return 1 / (1 + np.exp(-values))


def make(name, input_size=HIDDEN):
    torch.manual_seed(3)
    cell = CELLS.load(name)(input_size, HIDDEN)
    with torch.no_grad():
        for parameter in cell.parameters():  # including biases
            parameter.copy_(torch.randn_like(parameter) * 0.7)
    return cell, {name: value.detach().double().numpy() for name, value in cell.named_parameters()}


def node(matrix, value, activation):
    """A gated node: interpolation from its predecessor's value (hidden,) to an activation of a map of it."""
    gate, new = np.split(matrix @ value, 2)
    return value + sigmoid(gate) * (activation(new) - value)


def first_node(weights, inputs, state):
    both = np.concatenate([weights["input_map.weight"], weights["hidden_map.weight"]], axis=1)
    gate, new = np.split(both @ np.concatenate([inputs, state]), 2)
    return state + sigmoid(gate) * (np.tanh(new) - state)


def dgsend(weights, inputs, state):
    return node(weights["node_maps.0.weight"], first_node(weights, inputs, state), lambda new: new)


def dgrecv(weights, inputs, state):
    s0 = first_node(weights, inputs, state)
    s1 = node(weights["node_maps.0.weight"], s0, np.tanh)
    s2 = node(weights["node_maps.1.weight"], s0, np.tanh)
    s3 = node(weights["node_maps.2.weight"], s0, lambda new: new)
    s4 = node(weights["node_maps.3.weight"], s2, lambda new: np.maximum(new, 0))
    return (s1 + s2 + s3 + s4) / 4


def sru(weights, inputs, memory, activation):
    """Next output and memory; both gates depend on the previous memory."""
    new, forget, highway = np.split(weights["input_map.weight"] @ inputs, 3)
    peep_forget, peep_highway = np.split(weights["peephole"], 2)
    bias_forget, bias_highway = np.split(weights["bias"], 2)
    forget = sigmoid(forget + memory * peep_forget + bias_forget)
    highway = sigmoid(highway + memory * peep_highway + bias_highway)
    memory = new + (memory - new) * forget
    return inputs + (activation(memory) - inputs) * highway, memory


@pytest.mark.parametrize("input_size", [1, 4, HIDDEN])
@pytest.mark.parametrize(("name", "formula"), [("dgsend", dgsend), ("dgrecv", dgrecv)])
def test_searched_cells_equal_their_nodes(name, formula, input_size):
    cell, weights = make(name, input_size)
    inputs, hidden = torch.randn(4, BATCH, input_size), torch.randn(BATCH, HIDDEN)
    step, state = cell.unroll(torch.float32), cell.start(hidden)
    expected = hidden.double().numpy()
    for step_inputs in inputs:
        state = step(step_inputs, state)
        pairs = zip(step_inputs.double().numpy(), expected, strict=True)
        expected = np.stack([formula(weights, *pair) for pair in pairs])
        torch.testing.assert_close(state[0].double(), torch.from_numpy(expected), **CLOSE)
    assert cell.summary(state) is state[0]


@pytest.mark.parametrize(("name", "activation"), [("sru", lambda memory: memory), ("sru-tanh", np.tanh)])
def test_sru_equals_its_formula(name, activation):
    cell, weights = make(name)
    inputs, memory = torch.randn(4, BATCH, HIDDEN), torch.randn(BATCH, HIDDEN)
    step, state = cell.unroll(torch.float32), cell.start(memory)
    assert torch.equal(cell.summary(state), memory)
    expected = memory.double().numpy()
    for step_inputs in inputs:
        state = step(step_inputs, state)
        pairs = zip(step_inputs.double().numpy(), expected, strict=True)
        outputs, memories = zip(*(sru(weights, *pair, activation) for pair in pairs), strict=True)
        expected = np.stack(memories)
        torch.testing.assert_close(state[0].double(), torch.from_numpy(np.stack(outputs)), **CLOSE)
        torch.testing.assert_close(cell.summary(state).double(), torch.from_numpy(expected), **CLOSE)


@pytest.mark.parametrize("name", CELLS.parts)
def test_no_input_and_no_state_are_zeros(name):
    cell, _ = make(name)
    (hidden, weights), zeros = torch.randn(2, BATCH, HIDDEN), torch.zeros(BATCH, HIDDEN)
    results = []
    for inputs in (None, zeros):
        step, state = cell.unroll(torch.float32), cell.start(hidden)
        for _ in range(3):
            state = step(inputs, state)
        total = (cell.summary(state) * weights).sum()
        gradients = torch.autograd.grad(total, list(cell.parameters()), materialize_grads=True)
        results.append([*state, *gradients])
    assert_close(*results)
    step = cell.unroll(torch.float32)
    assert_close(step(hidden, None), step(hidden, cell.start(zeros)))


@pytest.mark.parametrize(("name", "num_nodes"), [("dgsend", 1), ("dgrecv", 4)])
def test_searched_cells_are_initialised_by_glorots_rule(name, num_nodes):
    """Input and hidden map as one matrix of 96 + 64 by 128; the map of each node has 64 by 128. No biases."""
    torch.manual_seed(0)
    cell = CELLS.load(name)(96, 64)
    sizes = {key: tuple(value.shape) for key, value in cell.named_parameters()}
    node_sizes = {f"node_maps.{index}.weight": (128, 64) for index in range(num_nodes)}
    assert sizes == {"input_map.weight": (128, 96), "hidden_map.weight": (128, 64)} | node_sizes
    for key, value in cell.named_parameters():
        bound = (6 / (96 + 64 + 128 if "node" not in key else 64 + 128)) ** 0.5
        assert bound * 0.98 < value.abs().max() <= bound
        assert value.std().item() == pytest.approx(bound / 3**0.5, rel=0.02)


@pytest.mark.parametrize("name", ["sru", "sru-tanh"])
def test_sru_needs_an_input_as_wide_as_its_state(name):
    with pytest.raises(ConfigError, match=r"expected equal widths of .* embedding_size=4 and hidden_size=6"):
        CELLS.load(name)(4, 6)


def test_forward_equals_torch_and_follows_the_precision_of_its_input():
    layer, inputs = Linear(5, 7), torch.randn(4, 5)
    expected = nn.functional.linear(inputs, layer.weight, layer.bias)
    torch.testing.assert_close(layer(inputs), expected, rtol=0, atol=0)
    low_precision = layer(inputs.bfloat16())
    assert low_precision.dtype == torch.bfloat16 and layer.weight.dtype == torch.float32
    torch.testing.assert_close(low_precision.float(), expected, rtol=0.05, atol=0.05)
    layer = Linear(0, 3)
    assert layer(torch.zeros(2, 0)).tolist() == [[0, 0, 0]] * 2 and not layer.bias.isnan().any()


def recur(step, weight_sum, inputs):
    """A loop in which every step's output is the next input, so that gradients flow through time."""
    state, states = inputs, []
    for _ in range(4):
        state = step(state).tanh()
        states.append(state)
    return (torch.stack(states) * weight_sum).sum()


def test_unrolled_gradients_equal_plain_autograd():
    torch.manual_seed(0)
    layer, weights = Linear(6, 6), torch.randn(4, 3, 6)
    inputs = torch.randn(3, 6, requires_grad=True)
    ours, plain = (
        torch.autograd.grad(recur(step, weights, inputs), [*layer.parameters(), inputs])
        for step in (layer.unroll(torch.float32), layer)
    )
    assert_close(ours, plain)
    rounded = torch.autograd.grad(
        recur(layer.unroll(torch.bfloat16), weights.bfloat16(), inputs.bfloat16()), list(layer.parameters())
    )
    for gradient, expected in zip(rounded, plain[:2], strict=True):
        assert gradient.dtype == torch.float32 and (gradient - expected).norm() < 0.05 * expected.norm()
    total = recur(layer.unroll(torch.float32), weights, inputs)
    first, *again = (torch.autograd.grad(total, list(layer.parameters()), retain_graph=True) for _ in range(3))
    for later in again:
        assert all((each == other).all() for each, other in zip(first, later, strict=True))


def test_one_hot_weights_and_ids_have_equal_embeddings_padding_is_eos_and_ids_train_the_layer():
    layer, ids = SymbolEmbedding(5, 3), torch.tensor([0, 4, 2, 2])
    for embed in (layer, layer.unroll(torch.float32)):
        torch.testing.assert_close(embed(ids), embed(torch.eye(5)[ids]))
    torch.testing.assert_close(layer(torch.tensor([-1])), layer(torch.tensor([0])))
    layer.unroll(torch.float32)(torch.tensor([1, 1, 3])).sum().backward()
    torch.testing.assert_close(layer.weight.grad, torch.tensor([0.0, 2.0, 0.0, 1.0, 0.0]).expand(3, 5))
    torch.testing.assert_close(layer.bias.grad, torch.full((3,), 3.0))


def test_a_frozen_layer_passes_gradients_on_and_second_derivatives_are_refused():
    layer, inputs = Linear(4, 4).requires_grad_(False), torch.randn(3, 4, requires_grad=True)
    step = layer.unroll(torch.float32)
    step(step(inputs)).sum().backward()
    expected = torch.ones(3, 4) @ layer.weight @ layer.weight
    torch.testing.assert_close(inputs.grad, expected)
    assert layer.weight.grad is None
    layer = Linear(3, 3)
    output = layer.unroll(torch.float32)(torch.randn(2, 3)).square().sum()
    with pytest.raises(RuntimeError, match="not support second derivatives"):
        torch.autograd.grad(output, [layer.weight], create_graph=True)
