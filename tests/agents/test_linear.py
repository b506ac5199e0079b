"""The linear layer: unrolled over steps it equals plain autograd."""

import pytest
import torch
from torch import nn

from ecsuite.agents.linear import Linear, SymbolEmbedding


def test_forward_equals_torch_and_follows_the_precision_of_its_input():
    layer, inputs = Linear(5, 7), torch.randn(4, 5)
    expected = nn.functional.linear(inputs, layer.weight, layer.bias)
    torch.testing.assert_close(layer(inputs), expected, rtol=0, atol=0)
    low_precision = layer(inputs.bfloat16())
    assert low_precision.dtype == torch.bfloat16 and layer.weight.dtype == torch.float32
    torch.testing.assert_close(low_precision.float(), expected, rtol=0.05, atol=0.05)


def test_a_layer_that_reads_nothing_begins_without_a_warning():
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
    plain = torch.autograd.grad(recur(layer, weights, inputs), [*layer.parameters(), inputs])
    ours = torch.autograd.grad(
        recur(layer.unroll(torch.float32), weights, inputs), [*layer.parameters(), inputs]
    )
    for gradient, expected in zip(ours, plain, strict=True):
        torch.testing.assert_close(gradient, expected, rtol=1e-5, atol=1e-5)


def test_unrolled_in_bf16_gives_fp32_gradients_close_to_the_exact_ones():
    torch.manual_seed(0)
    layer, weights, inputs = Linear(6, 6), torch.randn(4, 3, 6), torch.randn(3, 6)
    exact = torch.autograd.grad(recur(layer, weights, inputs), list(layer.parameters()))
    low_precision = torch.autograd.grad(
        recur(layer.unroll(torch.bfloat16), weights.bfloat16(), inputs.bfloat16()), list(layer.parameters())
    )
    for gradient, expected in zip(low_precision, exact, strict=True):
        assert gradient.dtype == torch.float32
        assert (gradient - expected).norm() < 0.05 * expected.norm()


@pytest.mark.parametrize("unrolled", [False, True])
def test_one_hot_weights_and_ids_have_equal_embeddings(unrolled):
    layer, ids = SymbolEmbedding(5, 3), torch.tensor([0, 4, 2, 2])
    embed = layer.unroll(torch.float32) if unrolled else layer
    torch.testing.assert_close(embed(ids), embed(torch.eye(5)[ids]))


def test_padding_embeds_as_eos_and_ids_train_the_layer():
    layer = SymbolEmbedding(5, 3)
    torch.testing.assert_close(layer(torch.tensor([-1])), layer(torch.tensor([0])))
    layer.unroll(torch.float32)(torch.tensor([1, 1, 3])).sum().backward()
    torch.testing.assert_close(layer.weight.grad, torch.tensor([0.0, 2.0, 0.0, 1.0, 0.0]).expand(3, 5))
    torch.testing.assert_close(layer.bias.grad, torch.full((3,), 3.0))


def test_a_second_backward_pass_gives_the_same_gradient():
    torch.manual_seed(0)
    layer, weights, inputs = Linear(6, 6), torch.randn(4, 3, 6), torch.randn(3, 6)
    total = recur(layer.unroll(torch.float32), weights, inputs)
    first = torch.autograd.grad(total, list(layer.parameters()), retain_graph=True)
    for _ in range(2):
        again = torch.autograd.grad(total, list(layer.parameters()), retain_graph=True)
        assert all((each == other).all() for each, other in zip(first, again, strict=True))


def test_a_frozen_layer_passes_gradients_on():
    layer, inputs = Linear(4, 4).requires_grad_(False), torch.randn(3, 4, requires_grad=True)
    step = layer.unroll(torch.float32)
    step(step(inputs)).sum().backward()
    expected = torch.ones(3, 4) @ layer.weight @ layer.weight
    torch.testing.assert_close(inputs.grad, expected)
    assert layer.weight.grad is None


def test_second_derivatives_are_refused():
    layer = Linear(3, 3)
    output = layer.unroll(torch.float32)(torch.randn(2, 3)).square().sum()
    with pytest.raises(RuntimeError, match="not support second derivatives"):
        torch.autograd.grad(output, [layer.weight], create_graph=True)
