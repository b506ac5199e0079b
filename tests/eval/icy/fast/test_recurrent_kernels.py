"""Fused cells against the formulas of their cells in double precision: states and gradients."""

import pytest
import torch

from ecsuite.agents.registry import CELLS
from ecsuite.eval.icy.fast.recurrent_kernels import FUSED_CELLS, FoldedInput, tanh_

REPLICAS, INPUT, ROWS, HIDDEN, BATCH = 3, 5, 4, 6, 7
FAST = ["rnn", "gru", "lstm", "dgsend", "dgrecv"]


def rnn(maps, state):
    of_input, of_hidden = maps(1)
    return (torch.tanh(of_input[0] + of_hidden[0]),)


def gru(maps, state):
    (i_r, i_z, i_n), (h_r, h_z, h_n) = maps(3)
    reset, update = torch.sigmoid(i_r + h_r), torch.sigmoid(i_z + h_z)
    return ((1 - update) * torch.tanh(i_n + reset * h_n) + update * state[0],)


def lstm(maps, state):
    write, forget, new, output = (a + b for a, b in zip(*maps(4), strict=True))
    memory = torch.sigmoid(forget) * state[1] + torch.sigmoid(write) * torch.tanh(new)
    return torch.sigmoid(output) * torch.tanh(memory), memory


FORMULAS = {"rnn": rnn, "gru": gru, "lstm": lstm}


def node(maps, value, activation):
    gate, new = maps.chunk(2, dim=-2)
    return value + torch.sigmoid(gate) * (activation(new) - value)


def formula(name, parameters, state, inputs, one):
    """One step of a cell; `inputs` is (replicas, input, batch), `one` the factor of the biases."""
    if name in FORMULAS:
        maps = [
            parameters[f"{part}.weight"] @ values + parameters[f"{part}.bias"].unsqueeze(-1) * one
            for part, values in (("input_map", inputs), ("hidden_map", state[0]))
        ]
        return FORMULAS[name](lambda number: [each.chunk(number, dim=-2) for each in maps], state)
    both = parameters["input_map.weight"] @ inputs + parameters["hidden_map.weight"] @ state[0]
    first = node(both, state[0], torch.tanh)
    weights = [parameters[f"node_maps.{i}.weight"] for i in range(1 if name == "dgsend" else 4)]
    if name == "dgsend":
        return (node(weights[0] @ first, first, lambda new: new),)
    second, third = (node(weight @ first, first, torch.tanh) for weight in weights[:2])
    fourth = node(weights[2] @ first, first, lambda new: new)
    fifth = node(weights[3] @ third, third, torch.relu)
    return ((second + third + fourth + fifth) / 4,)


class Case:
    """Random parameters, input and state of a cell, all leaves in double precision."""

    def __init__(self, name, *, is_zero_input=False, replicas=REPLICAS):
        draw = torch.Generator().manual_seed(1)

        def leaf(*shape):
            return torch.randn(*shape, generator=draw, dtype=torch.float64).requires_grad_()

        self.name, self.cell = name, FUSED_CELLS[CELLS.load(name)]
        cell = CELLS.load(name)(INPUT, HIDDEN)
        self.parameters = {key: leaf(replicas, *value.shape) for key, value in cell.named_parameters()}
        self.state = tuple(leaf(replicas, HIDDEN, BATCH) for _ in cell.start(torch.zeros(1, HIDDEN)))
        if is_zero_input:
            self.embedding = None
            self.bias_coefficients = torch.ones(int(cell.has_bias), dtype=torch.float64)
            self.rows = torch.ones(replicas, int(cell.has_bias), BATCH, dtype=torch.float64)
        else:
            self.embedding = leaf(replicas, INPUT, ROWS)
            self.bias_coefficients = torch.ones(ROWS, dtype=torch.float64)
            weights = torch.rand(replicas, ROWS, BATCH, generator=draw, dtype=torch.float64)
            self.rows = (weights / weights.sum(1, keepdim=True)).requires_grad_()  # sum to 1

    @property
    def leaves(self):
        rows = [self.embedding, self.rows] if self.embedding is not None else []
        return [*self.parameters.values(), *self.state, *rows]

    @property
    def initial_state(self):
        return tuple(part.detach() for part in self.state)

    def matrices(self):
        return self.cell.matrices(
            self.parameters, FoldedInput(embedding=self.embedding, bias_coefficients=self.bias_coefficients)
        )

    def stacked_input(self):
        return torch.cat([self.state[0], self.rows], dim=1).detach()

    def expected(self):
        inputs = (
            torch.zeros(len(self.rows), INPUT, BATCH, dtype=torch.float64)
            if self.embedding is None
            else self.embedding @ self.rows
        )
        # The biases are folded into the matrix of the rows, which sum to 1; so the gradient of the rows includes them.
        one = self.rows.sum(1, keepdim=True)
        return formula(self.name, self.parameters, self.state, inputs, one)


@pytest.mark.parametrize("is_zero_input", [False, True])
@pytest.mark.parametrize("name", FAST)
def test_the_next_state_equals_the_formula(name, is_zero_input):
    case = Case(name, is_zero_input=is_zero_input)
    state, _ = case.cell.forward(
        [each.detach() for each in case.matrices()], case.stacked_input(), case.initial_state
    )
    for mine, wanted in zip(state, case.expected(), strict=True):
        torch.testing.assert_close(mine, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("is_zero_input", [False, True])
@pytest.mark.parametrize("name", FAST)
def test_gradients_equal_autograd(name, is_zero_input):
    case = Case(name, is_zero_input=is_zero_input)
    expected = case.expected()
    grad_state = [torch.randn_like(part) for part in expected]
    wanted = torch.autograd.grad(expected, case.leaves, grad_state, allow_unused=True, materialize_grads=True)

    matrices = case.matrices()
    plain = [each.detach() for each in matrices]
    with torch.no_grad():
        _, saved = case.cell.forward(plain, case.stacked_input(), case.initial_state)
        gradients = [torch.zeros_like(each) for each in plain]
        grad_stacked_input, rest = case.cell.backward(plain, gradients, saved, tuple(grad_state))
    of_parameters = torch.autograd.grad(
        matrices,
        [*case.parameters.values(), *([] if is_zero_input else [case.embedding])],
        gradients,
        allow_unused=True,
        materialize_grads=True,
    )
    mine = [*of_parameters[: len(case.parameters)], grad_stacked_input[:, :HIDDEN], *rest]
    if not is_zero_input:
        mine += [of_parameters[-1], grad_stacked_input[:, HIDDEN:]]
    for gradient, reference in zip(mine, wanted, strict=True):
        torch.testing.assert_close(gradient, reference, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", FAST)
def test_gradients_of_steps_add_up(name):
    case = Case(name)
    matrices = [each.detach() for each in case.matrices()]
    once = [torch.zeros_like(each) for each in matrices]
    twice = [torch.zeros_like(each) for each in matrices]
    with torch.no_grad():
        for gradients in (once, twice, twice):
            _, saved = case.cell.forward(matrices, case.stacked_input(), case.initial_state)
            grad_state = tuple(torch.ones_like(part) for part in case.initial_state)
            case.cell.backward(matrices, gradients, saved, grad_state)
    for single, double in zip(once, twice, strict=True):
        torch.testing.assert_close(double, 2 * single)


@pytest.mark.parametrize("name", FAST)
def test_matrices_input_and_state_are_not_modified(name):
    case = Case(name)
    matrices, stacked_input = [each.detach() for each in case.matrices()], case.stacked_input()
    state = tuple(part.detach().clone() for part in case.initial_state)
    before = [each.clone() for each in (*matrices, stacked_input, *state)]
    with torch.no_grad():
        after, saved = case.cell.forward(matrices, stacked_input, state)
        output = after[0].clone()
        grad_state = tuple(torch.ones_like(part) for part in state)
        case.cell.backward(matrices, [torch.zeros_like(each) for each in matrices], saved, grad_state)
    for old, new in zip(before, (*matrices, stacked_input, *state), strict=True):
        assert torch.equal(old, new)
    assert torch.equal(after[0], output)


@pytest.mark.parametrize("name", FAST)
def test_replicas_are_independent(name):
    case = Case(name)
    matrices, stacked_input = [each.detach() for each in case.matrices()], case.stacked_input()
    state, _ = case.cell.forward(matrices, stacked_input, case.initial_state)
    for replica in range(REPLICAS):
        alone, _ = case.cell.forward(
            [each[replica : replica + 1] for each in matrices],
            stacked_input[replica : replica + 1],
            tuple(part[replica : replica + 1] for part in case.initial_state),
        )
        for mine, wanted in zip(alone, state, strict=True):
            torch.testing.assert_close(mine, wanted[replica : replica + 1], rtol=1e-13, atol=1e-13)


def test_every_cell_has_a_kernel_or_is_known_to_have_none():
    assert {name for name in CELLS.parts if CELLS.load(name) in FUSED_CELLS} == set(FAST)


def test_tanh_in_place_is_tanh():
    values = torch.linspace(-30, 30, 601, dtype=torch.float64)
    result = values.clone()
    assert tanh_(result) is result
    torch.testing.assert_close(result, values.tanh(), rtol=1e-12, atol=1e-12)
