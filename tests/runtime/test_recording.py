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
    recorded, calls, losses = Recorded(), [], []

    def function(inputs):
        calls.append(1)
        noise = torch.empty(4, 2).exponential_(generator=generator)
        hidden = (layer(inputs) + noise).sigmoid() + 1
        hidden[:, 0].mul_(2)
        loss = (hidden * hidden.chunk(2, 1)[1]).softmax(-1)[:, 0].sum()
        total.add_(loss.detach())
        return {"loss": loss.detach()}, [*torch.autograd.grad(loss, layer.parameters()), None]

    for seed in range(4):
        inputs, before = torch.randn(4, 3), total.clone()
        expected, gradients = (generator.manual_seed(seed), function(inputs))[1]
        after = total.clone()
        total.copy_(before)
        generator.manual_seed(seed)
        found, returned = recorded("form", function, [inputs])
        losses.append((found["loss"], expected["loss"]))
        assert torch.equal(total, after) and returned[2] is None
        assert all(map(torch.equal, returned[:2], gradients[:2]))
        layer.weight.data.sub_(returned[0])
    assert all(torch.equal(*each) for each in losses)  # also those of earlier calls
    assert len(calls) == 5  # each time beside it, and once to record it


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
            "form", lambda values: ({}, external_call(lambda each: (each[: world["size"]],), values)), [torch.arange(4)]
        )
        assert found[1][0].tolist() == [0, 1, 2][:size]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.int64])
def test_numbers_have_the_precision_of_the_operation(at_once, dtype):
    def function(values):
        return {}, [values * 0.1, values + 1 / 3, values.sum() * 0.7, values > 0.1, 2 - values]

    recorded = Recorded()
    for number in range(3):
        values = torch.arange(5).to(dtype) / (1 if dtype == torch.int64 else 7) + number
        found = recorded("form", function, [values])[1]
        assert all(torch.equal(*pair) for pair in zip(found, function(values)[1], strict=True))
    assert recorded.replays


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
        ("disc_tiny", ("channel.kind=soft", "channel.trainable_temperature=true", "channel.temperature_decay=1")),
        ("compo_vs_generalization", ("channel.noise=erasure,probability=0.2",)),
        ("shape_gs", ("world.images_per_batch=12", "task.num_targets=2", "task.num_distractors=2")),
        ("digits", ("sender.perception.dropout=0.2", "channel.straight_through=true", "sender.cell=lstm")),
    ],
    ids=["schedule", "reinforce", "society", "generations", "temperature", "noise", "images", "dropout"],
)  # fmt: skip
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
