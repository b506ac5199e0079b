"""Fused receivers: final states and all gradients equal those of the modules."""

import pytest
import torch

from ecsuite.agents.factory import make_receiver
from ecsuite.agents.message import Message
from ecsuite.eval.icy.fast.receivers import make_fused_receiver

LENGTH, BATCH, HIDDEN, VOCAB = 6, 5, 8, 4
FAST = [
    *("rnn", "gru", "lstm", "dgsend", "dgrecv", "lstm-2l", "dgrecv-2l", "gru-3l"),
    *("hier:rnn", "hier:gru", "hier:lstm", "hier:dgrecv"),
]


def receiver(spec, seed=0, style="icy"):
    torch.manual_seed(seed)
    return make_receiver(spec, vocab_size=VOCAB, max_len=LENGTH, hidden_size=HIDDEN, style=style)


def stacked(modules):
    names = dict(modules[0].named_parameters())
    values = [dict(module.named_parameters()) for module in modules]
    return {name: torch.stack([each[name].detach() for each in values]).requires_grad_() for name in names}


def final_state_of_module(module, symbols):
    message = Message(symbols=symbols, ends=None, length=torch.full((BATCH,), float(LENGTH)))
    return module(message, torch.float32)[0][0].t()  # (hidden, batch)


@pytest.mark.parametrize("spec", FAST)
def test_states_and_gradients_equal_the_module(spec):
    modules = [receiver(spec, seed) for seed in range(3)]
    parameters = stacked(modules)
    symbols = torch.randint(1, VOCAB + 1, (LENGTH, 3, BATCH))
    grad_state = torch.randn(3, HIDDEN, BATCH)
    state = make_fused_receiver(modules[0]).final_state(parameters, symbols)
    state.backward(grad_state)
    for index, module in enumerate(modules):
        theirs = final_state_of_module(module, symbols[:, index])
        torch.testing.assert_close(state[index], theirs, atol=1e-6, rtol=1e-5)
        theirs.backward(grad_state[index])
        for name, parameter in module.named_parameters():
            expected = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
            torch.testing.assert_close(
                parameters[name].grad[index], expected, atol=2e-5, rtol=1e-4, msg=f"{spec} {name}"
            )


def test_style_egg_has_no_fused_implementation():
    assert make_fused_receiver(receiver("gru", style="egg")) is None
