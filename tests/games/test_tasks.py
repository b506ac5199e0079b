"""Tasks: losses, measures and chance levels against manual computations."""

import math

import pytest
import torch

from ecsuite.config import unknown_name
from ecsuite.games.experiment import load_experiment
from ecsuite.games.game import make_task
from ecsuite.games.tasks import TASKS, Discrimination, Reconstruction


def test_discrimination_scores_candidates_by_their_encoding_times_the_state():
    torch.manual_seed(0)
    task = Discrimination(hidden_size=5, num_attributes=2, num_values=3, num_candidates=4)
    states, targets = torch.randn(3, 2, 5), torch.tensor([3, 0])
    candidates = torch.randint(3, (2, 4, 2))
    output = task(states, candidates, targets)
    for end in range(3):
        for row in range(2):
            logits = []
            for candidate in candidates[row].tolist():
                features = torch.zeros(6)
                features[candidate[0]] = features[3 + candidate[1]] = 1
                encoding = (task.encode.weight @ features + task.encode.bias).tanh()
                logits.append((encoding @ states[end, row]).item())
            target = targets[row].item()
            loss = math.log(sum(math.exp(score) for score in logits)) - logits[target]
            assert output.loss[end, row].item() == pytest.approx(loss, rel=1e-4)
            assert output.measures["accuracy"][end, row] == (logits.index(max(logits)) == target)
    assert task.chance() == {"accuracy": 0.25}


def test_discrimination_gradients_equal_plain_autograd():
    torch.manual_seed(0)
    task = Discrimination(hidden_size=5, num_attributes=2, num_values=3, num_candidates=4)
    states, weights = torch.randn(3, 2, 5, requires_grad=True), torch.rand(3, 2)
    candidates, targets = torch.randint(3, (2, 4, 2)), torch.tensor([3, 0])
    inputs = [states, *task.parameters()]
    ours = torch.autograd.grad((task(states, candidates, targets).loss * weights).sum(), inputs)
    features = torch.nn.functional.one_hot(candidates, 3).flatten(-2).float()
    logits = torch.einsum(
        "bch,ebh->ebc", torch.tanh(features @ task.encode.weight.t() + task.encode.bias), states
    )
    losses = -logits.log_softmax(-1).gather(-1, targets.expand(3, -1)[..., None])[..., 0]
    plain = torch.autograd.grad((losses * weights).sum(), inputs)
    for mine, expected in zip(ours, plain, strict=True):
        torch.testing.assert_close(mine, expected, rtol=1e-5, atol=1e-5)


def test_reconstruction_loss_and_accuracies():
    task = Reconstruction(hidden_size=6, num_attributes=2, num_values=3)
    with torch.no_grad():
        task.decode.weight.copy_(torch.eye(6))
        task.decode.bias.zero_()
    candidates = torch.tensor([[[0, 1]], [[2, 2]]])
    states = torch.tensor([[[5.0, 0, 0, 0, 5, 0], [0, 0, 5, 5, 0, 0]]])  # predicts (0, 1) and (2, 0)
    output = task(states, candidates, torch.zeros(2, dtype=torch.long))
    right, wrong = math.log(math.exp(5) + 2) - 5, math.log(math.exp(5) + 2)
    assert output.loss[0].tolist() == pytest.approx([right, (right + wrong) / 2], rel=1e-5)
    assert output.measures["accuracy"][0].tolist() == [1, 0]
    assert output.measures["attribute_accuracy"][0].tolist() == [1, 0.5]
    assert task.chance() == pytest.approx({"accuracy": 1 / 9, "attribute_accuracy": 1 / 3})


def test_tasks_by_name():
    for name in ("discrimination", "reconstruction"):  # the third task is for sets, see test_set_game
        task = make_task(load_experiment("disc_tiny", [f"game.task={name}"]), 64)
        assert type(task).__name__.lower() == name
    with pytest.raises(ValueError, match="unknown task 'discriminate'; did you mean 'discrimination'"):
        make_task(load_experiment("disc_tiny", ["game.task=discriminate"]), 64)
    assert (
        str(unknown_name("task", "zzz", TASKS))
        == "unknown task 'zzz'; choices: discrimination, reconstruction, concept"
    )
