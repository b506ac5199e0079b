"""A line to speak on that hears softmax weights, and keeps the scores."""

import pytest
import torch


class SoftLine:
    def __init__(self, num_steps):
        self.num_steps, self.scores = num_steps, []

    @property
    def is_open(self):
        return len(self.scores) < self.num_steps

    def say(self, scores):
        self.scores.append(scores)
        return scores.softmax(-1)

    def message(self):
        return torch.stack(self.scores)  # (num_steps, batch, vocab_size + 1)


@pytest.fixture
def soft_line():
    """Makes a line for so many steps; what is said on it is the scores."""
    return SoftLine
