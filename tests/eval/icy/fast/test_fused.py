"""Fused agents against their modules: loss, accuracy, final states, and the gradient of every parameter."""

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from ecsuite.agents.cells import LSTMCell
from ecsuite.agents.factory import make_receiver, make_sender
from ecsuite.agents.message import Message
from ecsuite.agents.registry import CELLS
from ecsuite.agents.spec import parse_agent
from ecsuite.eval.icy.fast.cells import FUSED_CELLS
from ecsuite.eval.icy.fast.receivers import make_fused_receiver
from ecsuite.eval.icy.fast.senders import SupervisedBatch, make_fused_sender

NUM_ATTRIBUTES, NUM_VALUES, LENGTH, VOCAB_SIZE, HIDDEN, BATCH = 3, 4, 6, 5, 8, 10
KNOWN = ["rnn", "gru", "lstm", "dgsend", "dgrecv"]
SHAPES = ["{}", "{}-z", "{}-2l", "{}-2l-z", "{}-3l", "husenda:{}", "husendz:{}"]
SENDERS = [shape.format(cell) for cell in KNOWN for shape in SHAPES] + ["fc1l", "fc2l"]


def make(name, seed=0, style="icy"):
    torch.manual_seed(seed)
    sizes = {"num_features": NUM_ATTRIBUTES * NUM_VALUES, "vocab_size": VOCAB_SIZE, "max_len": LENGTH}
    return make_sender(parse_agent("sender", name), **sizes, hidden_size=HIDDEN, style=style)


def stacked(modules):
    """Parameters of all modules by name, with a leading replica dimension."""
    values = [dict(module.named_parameters()) for module in modules]
    return {name: torch.stack([each[name].detach() for each in values]).requires_grad_() for name in values[0]}


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
    results = [by_module(sender, examples, at, soft_message_builder) for at, sender in enumerate(senders)]
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


@pytest.mark.parametrize("name", ["gru", "husenda:lstm", "fc2l"])
def test_without_gradient_no_gradient_is_computed(name):
    sender, counts = make(name), []
    for needs_gradient in (True, False):
        with FlopCounterMode(display=False) as counter, torch.set_grad_enabled(needs_gradient):
            make_fused_sender(sender).loss(stacked([sender]), make_batch(1))
        counts.append(counter.get_total_flops())
    assert counts[1] < 0.6 * counts[0]


FAST = ["rnn", "gru", "lstm", "dgsend", "dgrecv", "lstm-2l", "dgrecv-2l", "gru-3l",
        "hier:rnn", "hier:gru", "hier:lstm", "hier:dgrecv"]  # fmt: skip


def receiver(spec, seed=0, style="icy"):
    torch.manual_seed(seed)
    return make_receiver(spec, vocab_size=VOCAB_SIZE, max_len=LENGTH, hidden_size=HIDDEN, style=style)


def final_state_of_module(module, symbols):
    message = Message(symbols=symbols, ends=None, length=torch.full((BATCH,), float(LENGTH)))
    return module(message, torch.float32)[0][0].t()  # (hidden, batch)


@pytest.mark.parametrize("spec", FAST)
def test_states_and_gradients_of_receivers_equal_the_module(spec):
    modules = [receiver(spec, seed) for seed in range(3)]
    parameters = stacked(modules)
    symbols = torch.randint(1, VOCAB_SIZE + 1, (LENGTH, 3, BATCH))
    grad_state = torch.randn(3, HIDDEN, BATCH)
    state = make_fused_receiver(modules[0]).final_state(parameters, symbols)
    state.backward(grad_state)
    for index, module in enumerate(modules):
        theirs = final_state_of_module(module, symbols[:, index])
        torch.testing.assert_close(state[index], theirs, atol=1e-6, rtol=1e-5)
        theirs.backward(grad_state[index])
        for name, parameter in module.named_parameters():
            expected = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
            found = parameters[name].grad[index]
            torch.testing.assert_close(found, expected, atol=2e-5, rtol=1e-4, msg=f"{spec} {name}")


def test_what_has_no_fused_implementation():
    """Other cells, style egg, cells of two classes, and subclasses, which compute something else."""
    assert {name for name in CELLS.parts if CELLS.load(name) in FUSED_CELLS} == set(KNOWN)
    mixed, lower, other, heard = make("gru-2l"), make("husendz:gru"), make("gru"), receiver("gru-2l")
    mixed.cells[1] = heard.cells[1] = LSTMCell(HIDDEN, HIDDEN)
    lower.lower = LSTMCell(1, HIDDEN)
    other.__class__ = type("Other", (type(other),), {})
    others = [make("lstm", style="egg"), *map(make, ("sru", "husendz:sru", "transformer"))]
    assert {make_fused_sender(sender) for sender in (mixed, lower, other, *others)} == {None}
    specs = ("sru", "cnn", "fc2l", "hier:gru,stop=first", "hier:lstm,reset=on")
    receivers = [heard, receiver("gru", style="egg"), *map(receiver, specs)]
    assert {make_fused_receiver(each) for each in receivers} == {None}
