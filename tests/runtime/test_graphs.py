import gc
import weakref

import pytest
import torch
from torch import nn

from ecsuite.runtime import recording
from ecsuite.runtime.recording import Recorded

pytestmark = pytest.mark.device("pretended", "cuda")


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(recording, "NUM_CALLS_BEFORE_GRAPH", 0)


def test_a_graph_draws_writes_and_differentiates_as_the_function_does(at_once):
    torch.manual_seed(0)
    layer, norm = nn.Linear(3, 2).to("cuda"), nn.BatchNorm1d(2).to("cuda")
    total, generator = torch.zeros((), device="cuda"), torch.Generator("cuda")
    recorded, calls, losses = Recorded(), [], []

    def function(inputs):
        calls.append(1)
        noise = torch.empty(4, 2, device="cuda").exponential_(generator=generator)
        hidden = nn.functional.dropout(norm(layer(inputs)) + noise, 0.5) + torch.ones(2, device="cuda")
        hidden[:, 0].mul_(2)
        loss = hidden.softmax(-1)[:, 0].sum()
        total.add_(loss.detach())
        return {"loss": loss.detach()}, [*torch.autograd.grad(loss, layer.parameters()), None]

    for seed in range(4):
        inputs, kept = torch.randn(4, 3).to("cuda"), [total, *norm.buffers()]
        before = [each.clone() for each in kept]
        for source in (generator, torch.cuda):
            source.manual_seed(seed)
        expected, gradients = function(inputs)
        after = [each.clone() for each in kept]
        for each, value in zip(kept, before, strict=True):
            each.copy_(value)
        for source in (generator, torch.cuda):
            source.manual_seed(seed)
        found, returned = recorded("form", function, [inputs])
        losses.append((found["loss"], expected["loss"]))
        assert all(map(torch.equal, kept, after)) and returned[2] is None
        assert all(map(torch.equal, returned[:2], gradients[:2]))
        with torch.no_grad():
            layer.weight.sub_(returned[0])
    assert not recorded.reasons
    assert all(torch.equal(*each) for each in losses)  # also those of earlier calls
    assert len(calls) == 6  # each time beside it, and twice to make the graph


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.AdamW])
def test_a_graph_makes_steps_of_an_optimizer_with_rates_that_change(at_once, kind):
    torch.manual_seed(0)
    layers = [nn.Linear(3, 2).to("cuda") for _ in range(2)]
    layers[1].load_state_dict(layers[0].state_dict())
    rates = [torch.zeros((), device="cuda") for _ in layers]
    optimizers = [kind(layer.parameters(), lr=rate, fused=True) for layer, rate in zip(layers, rates, strict=True)]

    def step(layer, optimizer, inputs):
        optimizer.zero_grad()
        layer(inputs).square().sum().backward()
        optimizer.step()
        return {}, ()

    recorded = Recorded(optimizers[1])
    for number in range(5):
        inputs = torch.randn(4, 3).to("cuda")
        for rate in rates:
            rate.fill_(0.1 / (1 + number))
        step(layers[0], optimizers[0], inputs)
        if number:
            recorded("form", lambda inputs: step(layers[1], optimizers[1], inputs), [inputs])
        else:  # which makes the state
            step(layers[1], optimizers[1], inputs)
        assert all(map(torch.equal, *(list(layer.parameters()) for layer in layers)))
    assert not recorded.reasons and not optimizers[1].param_groups[0]["capturable"]


def test_a_graph_reads_what_another_gives_where_it_is(at_once, monkeypatch):
    monkeypatch.setattr(recording, "NUM_CALLS_UNTIL_STAYING", 2)
    copied, copy = [], torch._foreach_copy_
    monkeypatch.setattr(torch, "_foreach_copy_", lambda rooms, values: (copied.append(len(rooms)), copy(rooms, values)))
    first, second = Recorded(), Recorded(inputs_stay=True)
    for number in range(8):
        values = torch.full((3,), 1.0 + number, device="cuda")
        _, given = first("form", lambda each: ({}, [each * 2, each + 1]), [values])
        other = [torch.zeros(3, device="cuda"), torch.ones(3, device="cuda")] if number == 6 else given
        copied.clear()
        _, (found,) = second("form", lambda left, right: ({}, [left.mul_(3) + right]), other)
        expected = torch.ones(3) if number == 6 else 6 * values.cpu() + values.cpu() + 1
        assert torch.equal(found.cpu(), expected)
        if number > 2:
            assert copied == ([2] if number == 6 else [])
    assert not second.reasons and second.replays


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda values: values * values.sum().item(), "depends on values"),
        (lambda values: values + torch.ones(3).to("cuda"), "combines tensors of the CPU and of CUDA"),
        (lambda values: values[values > 0], "depends on values"),
    ],
)
def test_what_can_be_no_graph_is_called_and_says_why(at_once, function, why):
    recorded = Recorded()
    for number in range(3):
        values = torch.full((3,), 1.0 + number, device="cuda")
        assert torch.equal(recorded("form", lambda each: ({}, [function(each)]), [values])[1][0], function(values))
    assert why in recorded.reasons["form"]


@pytest.mark.parametrize(
    "waits", [lambda values: values.sum().item(), pytest.param(lambda _: torch.cuda.synchronize(), id="sync")]
)
def test_after_a_capture_that_failed_all_goes_on(at_once, waits):
    failing, other = Recorded(is_surveyed=False), Recorded(is_surveyed=False)

    def drawn(values):
        return {}, [values + torch.rand(3, device="cuda")]

    def waited(values):
        waits(values)
        return drawn(values)

    for seed in range(4):
        inputs, found = [torch.full((3,), float(seed), device="cuda")], []
        for call in (
            lambda _, inputs: drawn(*inputs),
            lambda form, inputs: failing(form, waited, inputs),
            lambda form, inputs: other(form, drawn, inputs),
        ):
            torch.cuda.manual_seed(seed)
            found.append(call("form", inputs)[1][0].clone())
        assert torch.equal(found[0], found[1]) and torch.equal(found[0], found[2])
    assert other.replays and not other.reasons
    assert failing.reasons or not torch.version.cuda  # the pretended device is never waited for


def test_what_a_graph_writes_into_stays_as_long_as_the_graph(at_once, monkeypatch):
    weight = nn.Parameter(torch.ones(3, device="cuda"))
    optimizer = torch.optim.Adam([weight], lr=torch.tensor(0.1).to("cuda"), fused=True)
    recorded, states = Recorded(optimizer), []

    def step(gradient):
        weight.grad = gradient
        optimizer.step()
        return {}, ()

    step(torch.ones(3, device="cuda"))
    for number in range(3):
        monkeypatch.setattr(recording, "MAX_GRAPHS", 2)
        states.append(weakref.ref(optimizer.state[weight]["exp_avg"]))
        recorded(number, step, [torch.ones(3, device="cuda")])
        optimizer.state[weight] = {name: each.clone() for name, each in optimizer.state[weight].items()}
        gc.collect()
        assert list(recorded.replays) == [0, 1, 2][max(0, number - 1) : number + 1]
    assert [state() is not None for state in states] == [False, True, True]
