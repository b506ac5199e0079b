"""What agents that act and speak learn from: bonuses of what they say, rewards they share, and networks apart."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.plays.play import make_play


def play_of(*settings):
    small = ("play.environment=reference,num_steps=3", "play.agents.hidden_size=8", "training.batch_size=8")
    found = load_experiment("speaker_listener", [*small, *settings])
    play = make_play(found, torch.device("cpu"))
    return play, play.practised(torch.arange(64), 0)


@pytest.mark.parametrize("of", ["meanings", "observations"])
def test_a_bonus_for_saying_what_one_means(of):
    play, episodes = play_of(f"play.learner.signalling_of={of}")
    goals = episodes.meanings[..., 0]  # (steps, batch, agents)
    shares = [np.bincount(goals[0, :, agent]) / 64 for agent in range(2)]
    of_goals = np.mean([-(share * np.log(share)).sum() for share in shares])
    name_of_goal = [50.0 * torch.eye(4)[goals[..., agent] + 1] for agent in range(2)]
    assert play.learner.signalled(replace(episodes, logits=name_of_goal)) == pytest.approx(of_goals)
    # A word of its own for each half of the episodes, whatever is meant: certain in each, but not of meanings.
    half = torch.arange(64) % 2
    told = play.learner.signalled(
        replace(episodes, logits=[50.0 * torch.eye(4)[half + 1].expand(3, -1, -1)] * 2)
    )
    lost = []
    for agent in range(2):
        words = np.array([np.bincount(half[goals[0, :, agent] == goal], minlength=2) for goal in range(3)])
        likely = words / words.sum(1, keepdims=True)
        lost.append(
            -(np.where(words, likely * np.log(np.maximum(likely, 1e-9)), 0).sum(1) * words.sum(1)).sum() / 64
        )
    wanted = np.log(2) - (0.2 * np.mean(lost) if of == "meanings" else 0)
    assert float(told) == pytest.approx(wanted, abs=1e-5) and 0.5 < np.mean(lost) < np.log(2)
