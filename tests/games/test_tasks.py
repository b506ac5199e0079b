"""Tasks: losses, measures and chance levels against manual computations."""

import math
from types import SimpleNamespace

import pytest
import torch

from ecsuite.games.tasks.tasks import Concept, Discrimination, Truth


def discrimination(num_candidates):
    world = SimpleNamespace(num_distractors=num_candidates - 1)
    return Discrimination(Discrimination.Options(), world=world, state_size=5)


def concept(num_targets, num_distractors, **options):
    world = SimpleNamespace(num_distractors=num_distractors)
    options = Concept.Options(num_targets=num_targets, num_distractors=num_distractors, **options)
    return Concept(options, world=world, state_size=5)


def truth(labels):
    return Truth(labels=torch.as_tensor(labels), values=None)


def one_target(targets, num_candidates):
    """Labels of rounds with these indices of the target."""
    return torch.nn.functional.one_hot(torch.as_tensor(targets), num_candidates).bool()


def test_discrimination_by_hand():
    scores = torch.tensor([[[2.0, -1.0, 0.5], [3.0, 1.0, -0.1]]])  # (1 end, 2 rounds, 3 candidates)
    output = discrimination(3)(scores, truth(one_target([0, 1], 3)))
    first = -2 + math.log(sum(math.exp(score) for score in (2, -1, 0.5)))
    second = -1 + math.log(sum(math.exp(score) for score in (3, 1, -0.1)))
    assert output.loss[0].tolist() == pytest.approx([first, second])
    assert output.measures["accuracy"][0].tolist() == [1, 0]


def test_concept_by_hand():
    scores = torch.tensor([[[2.0, -1.0, 0.5], [3.0, 1.0, -0.1]]])  # (1 end, 2 rounds, 3 candidates)
    labels = torch.tensor([[True, False, False], [True, True, False]])
    output = concept(2, 1)(scores, truth(labels))
    p = [1 / (1 + math.exp(-score)) for score in (2, -1, 0.5, 3, 1, -0.1)]
    first = -(math.log(p[0]) + math.log(1 - p[1]) + math.log(1 - p[2])) / 3
    second = -(math.log(p[3]) + math.log(p[4]) + math.log(1 - p[5])) / 3
    assert output.loss[0].tolist() == pytest.approx([first, second])
    assert output.measures["accuracy"][0].tolist() == pytest.approx([2 / 3, 1])
    assert output.measures["set_accuracy"][0].tolist() == [0, 1]
