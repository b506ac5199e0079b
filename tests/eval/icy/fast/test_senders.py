"""Fused senders against their modules: loss, share of correct symbols, and the gradient of every parameter."""

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from ecsuite.agents.cells import DAGCell, LSTMCell
from ecsuite.agents.factory import make_sender
from ecsuite.agents.senders import RecurrentSender
from ecsuite.agents.spec import parse_agent
from ecsuite.eval.icy.fast.cells import FUSED_CELLS
from ecsuite.eval.icy.fast.senders import SupervisedBatch, make_fused_sender

NUM_ATTRIBUTES, NUM_VALUES, LENGTH, VOCAB_SIZE, HIDDEN, BATCH = 3, 4, 6, 5, 8, 10
CELLS = ["rnn", "gru", "lstm", "dgsend", "dgrecv"]
SHAPES = ["{}", "{}-z", "{}-2l", "{}-2l-z", "{}-3l", "husenda:{}", "husendz:{}"]
SENDERS = [shape.format(cell) for cell in CELLS for shape in SHAPES] + ["fc1l", "fc2l"]


def make(name, seed=0, style="icy"):
    torch.manual_seed(seed)
    return make_sender(
        parse_agent("sender", name),
        num_features=NUM_ATTRIBUTES * NUM_VALUES,
        vocab_size=VOCAB_SIZE,
        max_len=LENGTH,
        hidden_size=HIDDEN,
        style=style,
    )


def stacked(senders):
    """Parameters of all senders by name, with a leading replica dimension."""
    names = dict(senders[0].named_parameters())
    return {
        name: torch.stack(
            [dict(sender.named_parameters())[name].detach() for sender in senders]
        ).requires_grad_()
        for name in names
    }


def make_batch(replicas, batch=BATCH, seed=1):
    draw = torch.Generator().manual_seed(seed)
    meanings = torch.randint(0, NUM_VALUES, (replicas, NUM_ATTRIBUTES, batch), generator=draw)
    messages = torch.randint(1, VOCAB_SIZE + 1, (LENGTH, replicas, batch), generator=draw)
    return SupervisedBatch(meanings, messages, NUM_VALUES, VOCAB_SIZE + 1)


def by_module(sender, examples, replica, soft_message_builder):
    """Loss, share of correct symbols and gradients of the module by autograd."""
    builder = soft_message_builder(LENGTH)
    sender(examples.features[replica].T.contiguous(), builder)
    logits, messages = torch.stack(builder.logits), examples.messages[:, replica, 0]
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), messages.flatten())
    gradients = torch.autograd.grad(loss, list(sender.parameters()), materialize_grads=True)
    right = (logits.argmax(-1) == messages).float().mean()
    names = [name for name, _ in sender.named_parameters()]
    return loss.detach(), right, dict(zip(names, gradients, strict=True))


def assert_same_gradient(actual, expected, name):
    """Equal but for rounding, against the largest entry; a sum that cancels exactly may leave a little."""
    error = (actual - expected).abs().max()
    assert error <= 2e-5 * expected.abs().max() + 1e-8, f"{name}: {error:.2g} of {expected.abs().max():.2g}"


@pytest.mark.sample(12)
@pytest.mark.parametrize("name", SENDERS)
def test_loss_accuracy_and_gradients_equal_the_module(name, soft_message_builder):
    senders = [make(name, seed) for seed in range(2)]
    parameters, examples = stacked(senders), make_batch(2)
    loss = make_fused_sender(senders[0]).loss(parameters, examples)
    loss.backward()
    results = [
        by_module(sender, examples, place, soft_message_builder) for place, sender in enumerate(senders)
    ]
    torch.testing.assert_close(loss, sum(result[0] for result in results))
    torch.testing.assert_close(examples.accuracy, torch.stack([result[1] for result in results]))
    for replica, (_, _, gradients) in enumerate(results):
        for key, expected in gradients.items():
            actual = parameters[key].grad
            actual = torch.zeros_like(expected) if actual is None else actual[replica]
            assert_same_gradient(actual, expected, key)


@pytest.mark.parametrize("name", ["lstm", "gru-2l", "husenda:rnn", "husendz:dgsend", "fc2l"])
def test_gradients_are_correct_at_extreme_probabilities(name, soft_message_builder):
    """Large weights: gates that are closed, probabilities near 0 and 1."""
    sender = make(name)
    with torch.no_grad():
        for parameter in sender.parameters():
            parameter.mul_(2.5)
    parameters, examples = stacked([sender]), make_batch(1)
    loss = make_fused_sender(sender).loss(parameters, examples)
    loss.backward()
    wanted_loss, _, gradients = by_module(sender, examples, 0, soft_message_builder)
    torch.testing.assert_close(loss.detach(), wanted_loss)
    for key, expected in gradients.items():
        actual = parameters[key].grad
        actual = torch.zeros_like(expected) if actual is None else actual[0]
        assert (actual - expected).abs().max() <= 1e-3 * expected.abs().max() + 1e-8, key


@pytest.mark.parametrize("name", ["sru", "sru-2l-z", "husendz:sru", "transformer"])
def test_some_senders_have_no_fused_implementation(name):
    assert make_fused_sender(make(name)) is None


def test_fused_senders_have_style_icy():
    """Style egg has a bias in the input projection and a learnt first input. FC1L has only one style."""
    assert make_fused_sender(make("lstm", style="egg")) is None
    assert make_fused_sender(make("husenda:lstm", style="egg")) is None
    assert make_fused_sender(make("fc1l", style="egg")) is not None


def test_accuracy_and_cross_entropy_of_a_batch():
    messages = torch.tensor([[[1, 2]]]).transpose(0, 1)  # one symbol, one replica, two examples
    examples = SupervisedBatch(torch.zeros(1, 1, 2, dtype=torch.long), messages, 1, 3)
    probabilities = torch.tensor([[0.25, 0.5, 0.25], [0.5, 0.25, 0.25]]).T[None, None]
    loss = examples.cross_entropy(probabilities)
    assert examples.accuracy.tolist() == [0.5]
    assert loss.item() == pytest.approx((torch.tensor(2.0).log() + torch.tensor(4.0).log()).item() / 2)


def test_cross_entropy_is_finite_if_a_target_has_probability_0():
    examples = SupervisedBatch(
        torch.zeros(1, 1, 1, dtype=torch.long), torch.ones(1, 1, 1, dtype=torch.long), 1, 2
    )
    assert 80 < examples.cross_entropy(torch.tensor([1.0, 0.0]).view(1, 1, 2, 1)).item() < 90
    assert examples.accuracy.tolist() == [0]


@pytest.mark.parametrize("factor", [0.0, 1.0, 3.0])
def test_a_weighted_loss_has_weighted_gradients(factor):
    sender = make("gru")
    gradients = []
    for weight in (1.0, factor):
        parameters = stacked([sender])
        (weight * make_fused_sender(sender).loss(parameters, make_batch(1))).backward()
        gradients.append({name: value.grad for name, value in parameters.items()})
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradients[1][name], factor * gradient)


def test_subclasses_compute_something_else_and_have_no_fused_implementation():
    class OtherCell(DAGCell):
        nodes = (("tanh", 0), ("relu", 1))

    class OtherSender(RecurrentSender):
        pass

    sender = make("gru")
    sender.__class__ = OtherSender
    assert OtherCell not in FUSED_CELLS and make_fused_sender(sender) is None


@pytest.mark.parametrize("name", ["gru", "husenda:lstm", "fc2l"])
def test_without_gradient_no_gradient_is_computed(name):
    sender, counts = make(name), []
    for needs_gradient in (True, False):
        with FlopCounterMode(display=False) as counter, torch.set_grad_enabled(needs_gradient):
            make_fused_sender(sender).loss(stacked([sender]), make_batch(1))
        counts.append(counter.get_total_flops())
    assert counts[1] < 0.6 * counts[0]


@pytest.mark.parametrize("name", ["gru-2l", "husendz:gru"])
def test_an_agent_with_cells_of_two_classes_has_no_fused_implementation(name):
    sender = make(name)
    if name == "gru-2l":
        sender.cells[1] = LSTMCell(HIDDEN, HIDDEN)
    else:
        sender.lower = LSTMCell(1, HIDDEN)
    assert make_fused_sender(sender) is None


def test_a_second_derivative_is_refused():
    sender = make("gru")
    parameters = stacked([sender])
    loss = make_fused_sender(sender).loss(parameters, make_batch(1))
    with pytest.raises(RuntimeError, match="not support second derivatives"):
        torch.autograd.grad(loss, [parameters["scores.weight"]], create_graph=True)
