"""Recorded operations give what the function gives, to the last bit; what depends on values is not recorded."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.training.train import train
from ecsuite.runtime import recording
from ecsuite.runtime.operations import Recorder
from ecsuite.runtime.recording import Recorded, external_call, guard


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(recording, "NUM_CALLS_BEFORE", 0)


def test_it_draws_writes_and_differentiates_as_the_function_does(at_once):
    torch.manual_seed(0)
    layer, total, generator = nn.Linear(3, 2), torch.zeros(()), torch.Generator()
    recorded, number_of_calls, losses = Recorded(), [], []

    def function(inputs):
        number_of_calls.append(1)
        noise = torch.empty(4, 2).exponential_(generator=generator)
        hidden = (layer(inputs) + noise).sigmoid() + 1
        hidden[:, 0].mul_(2)
        loss = (hidden * hidden.chunk(2, 1)[1]).softmax(-1)[:, 0].sum()
        total.add_(loss.detach())
        return {"loss": loss.detach()}, [*torch.autograd.grad(loss, layer.parameters()), None]

    for seed in range(4):
        inputs, before = torch.randn(4, 3), total.clone()
        generator.manual_seed(seed)
        expected, gradients = function(inputs)
        generator.manual_seed(seed)
        after = total.clone()
        total.copy_(before)
        found, returned = recorded("form", function, [inputs])
        losses.append((found["loss"], expected["loss"]))
        assert torch.equal(total, after) and returned[2] is None
        assert all(map(torch.equal, returned[:2], gradients[:2]))
        with torch.no_grad():
            layer.weight.sub_(returned[0])
    assert all(torch.equal(*each) for each in losses)  # also those of earlier calls
    assert len(number_of_calls) == 5  # each time beside it, and once to record it


def test_neither_inputs_nor_what_was_changed_outside_are_in_the_way(at_once, capfd):
    """Constants, shapes that change in place, parts of one result, and results with statistics of a batch."""
    norm, recorded = nn.BatchNorm1d(2), Recorded()

    def function(values):
        constant = torch.ones(3)
        column = values.sum(1)
        column.unsqueeze_(1)
        first, second = norm(values).split(2)
        most = torch.cat([first.max(0).indices, second.max(0).indices])
        return {}, [constant, column, most, first.detach(), second.detach()]

    for number in range(4):
        values = torch.randn(4, 2)
        given, state = values.clone(), {name: value.clone() for name, value in norm.state_dict().items()}
        _, expected = function(values)
        norm.load_state_dict(state)
        _, found = recorded("form", function, [values])
        assert torch.equal(values, given) and norm.num_batches_tracked == number + 1
        assert all(map(torch.equal, found, expected))
        found[0].mul_(2)  # as the norm of gradients is limited
        values.zero_()
    assert recorded.replays and not capfd.readouterr().err  # no result had another shape than the first time


def test_what_is_outside_is_called_again_and_asked_again(at_once):
    recorded, calls, world = Recorded(), [], {"steps": 2}

    def begin(values):
        world["sum"] = values.sum()
        return np.stack([values, -values]), np.array(world["steps"])

    def function(values):
        calls.append(1)
        pair, number = external_call(begin, values)
        for _ in range(guard(lambda: world["steps"])):
            (pair,) = external_call(lambda each: (each * world["sum"],), pair)
            pair.add_(number)
        return {"last": pair[0, -1]}, [pair]

    for number in range(4):
        values = torch.arange(3.0) + number
        expected = function(values)
        found = recorded("form", function, [values])
        assert torch.equal(found[1][0], expected[1][0]) and torch.equal(found[0]["last"], expected[0]["last"])
    assert len(calls) == 5 and world["sum"] == 12
    # Where the answer is another one, the function is called; and where that is so often, for ever.
    for steps, replays in ((3, 1), (2, 1), *((3, 1),) * 7, (3, 0), (2, 0)):
        world["steps"] = steps
        expected = function(values)
        assert torch.equal(recorded("form", function, [values])[1][0], expected[1][0])
        assert len(recorded.replays) == replays
    # The same where an array has another shape.
    recorded = Recorded()
    for size in (2, 2, 3):
        world["size"] = size
        found = recorded(
            "form",
            lambda values: ({}, external_call(lambda each: (each[: world["size"]],), values)),
            [torch.arange(4)],
        )
        assert found[1][0].tolist() == [0, 1, 2][:size]


def test_figures_stay_as_they_are_in_further_calls(at_once):
    """Those of the recorded call, too, of which some are views of what the next call writes into."""
    recorded = Recorded()
    kept = [
        recorded("form", lambda values: ({"twice": (values * 2)[0]}, []), [torch.ones(2) * n])[0]
        for n in range(4)
    ]
    assert recorded.replays and [figures["twice"].item() for figures in kept] == [0, 2, 4, 6]


def test_who_changes_something_before_asking_is_not_recorded(at_once):
    """Where the answer is another one, it would be changed twice."""
    recorded, total, world = Recorded(), torch.zeros(()), {"steps": 2}

    def function(values):
        total.add_(values.sum())
        return {}, [values * guard(lambda: world["steps"])]

    for steps in (2, 2, 3):
        world["steps"] = steps
        assert recorded("form", function, [torch.ones(2)])[1][0].tolist() == [steps, steps]
    assert total == 6 and not recorded.replays


def test_what_nobody_needs_is_not_made_again(at_once):
    recorder, layer = Recorder([torch.ones(2, 3)], 1000), nn.Linear(3, 3)
    with recorder:
        (values,) = recorder.inputs
        unneeded = layer(values).clone()
        unneeded[:, 0] = 1.0  # in place, of what was made here
        zeros = torch.zeros_like(unneeded)  # of its shape alone
        total = zeros + values.sum()
    recorder.function({}, [total])
    again = recorder.function({}, [total])
    layer.weight.data = torch.full((3, 3), torch.nan)
    assert again(torch.full((2, 3), 2.0))[1][0].eq(12).all()
    cells = [cell.cell_contents for cell in again.__wrapped__.__closure__]
    ((graph,),) = [each for each in cells if isinstance(each, list) and each and callable(each[0])]
    kinds = [node.kind() for node in graph.func.graph.nodes() if node.kind().startswith("aten::")]
    assert [kind for kind in kinds if kind not in ("aten::set_", "aten::copy_")] == ["aten::sum", "aten::add"]


@pytest.mark.parametrize(
    "function",
    [
        lambda values: [values * values.sum().item()],
        lambda values: [values[: int(values.argmax())]],
        lambda values: [values[values > 0].sum()],
        lambda values: [values.nonzero()],
        lambda values: [values * float(values.numpy().max())],
        lambda values: [values * values.tolist()[0]],
    ],
    ids=["item", "index", "mask", "nonzero", "numpy", "list"],
)
def test_what_depends_on_values_is_not_recorded(at_once, function):
    recorded = Recorded()
    for values in (torch.tensor([1.0, 2.0, -1.0]), torch.tensor([3.0, -2.0, 5.0])):
        assert torch.equal(
            recorded("form", lambda each: ({}, function(each)), [values])[1][0], function(values)[0]
        )
    assert not recorded.replays


def test_what_is_large_is_not_recorded_and_not_kept():
    with Recorder([], 1000) as recorder:
        made = torch.ones(300) + 1
        made = made + 1
    assert recorder.reason is not None and not recorder.kept and recorder.function({}, [made]) is None


SMALL = (
    "training.precision=fp32", "training.num_examples=64", "training.batch_size=8", "training.num_epochs=2",
    "training.evaluate_every=8", "training.checkpoint_every=16", "evaluation.num_valid=16", "evaluation.corpus_size=8",
    "sender.hidden_size=8", "receiver.hidden_size=8",
)  # fmt: skip
REINFORCE = ("channel.kind=reinforce", "optimizer.clip_norm=1", "training.accumulate=2")


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("game", "settings"),
    [
        ("disc_tiny", ("training.num_examples=60", "optimizer.sender_lr=0.01", "schedule.kind=linear")),
        ("disc_tiny", ("channel.length=fixed", *REINFORCE)),
        ("disc_tiny", ("society.receivers=3", "generations.every=5", "society.receiver_speeds=[0.5]")),
        ("disc_tiny", ("generations.every=3",)),
        (
            "disc_tiny",
            ("channel.kind=soft", "channel.trainable_temperature=true", "channel.temperature_decay=1"),
        ),
        ("compo_vs_generalization", ("channel.noise=erasure,probability=0.2",)),
        ("shape_gs", ("world.images_per_batch=12", "task.num_targets=2", "task.num_distractors=2")),
        ("digits", ("sender.perception.dropout=0.2", "channel.straight_through=true", "sender.cell=lstm")),
    ],
    ids=["schedule", "reinforce", "society", "generations", "temperature", "noise", "images", "dropout"],
)
def test_a_recorded_training_ends_with_the_same_bytes(tmp_path, monkeypatch, capfd, game, settings):
    experiment = load_experiment(game, [*SMALL, *settings])
    left = {}
    for calls in (1, 10**9):
        monkeypatch.setattr(recording, "NUM_CALLS_BEFORE", calls)
        folder = tmp_path / str(calls)
        train(experiment, folder, device="cpu", progress=lambda *_: None, note=lambda _: None)
        (checkpoint,) = folder.glob("*.safetensors")
        left[calls] = {name: tensor.numpy().tobytes() for name, tensor in load_file(checkpoint).items()}
        log = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
        left[calls] |= {"log": [(entry["train"], entry["valid"]) for entry in log]}
    assert left[1] == left[10**9] and not capfd.readouterr().err
