"""Learner for environments that provide the correct answers, as for the receivers of signalling games."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ecsuite.games.channels.channels import Channel
from ecsuite.games.environments.agents import ActingAgents
from ecsuite.games.environments.episodes import TensorEpisodes
from ecsuite.games.environments.learners import PolicyGradient
from ecsuite.runtime.errors import ConfigError


class Answers(PolicyGradient):
    """Learn answers by cross-entropy with the correct answers, and messages from the likelihood of correct answers.

    In differentiable channels, the gradient passes through the message to the speaker. In other channels, symbols are
    reinforced by the advantage: minus the cross-entropy of the rest of the episode, minus the baseline.
    """

    def __init__(self, options: Any, *, agents: ActingAgents, channel: Channel) -> None:
        super().__init__(options, agents=agents, channel=channel)
        if not agents.environment.tells_right:
            raise ConfigError(
                f"play.learner: learner answers needs correct answers, which {type(agents.environment).__name__} does "
                "not provide: expected another learner, such as policy_gradient"
            )

    def objective(
        self, episodes: TensorEpisodes, step: int, agents: ActingAgents
    ) -> tuple[Tensor, Mapping[str, Tensor]]:
        """See the base class."""
        likely = _of_right(episodes)  # (steps, batch, num_agents)
        rewards = likely.detach().double().sum(2, keepdim=True).expand_as(likely).cpu()
        told = replace(episodes, rewards=rewards, acting=torch.zeros_like(episodes.acting))
        objective, figures = super().objective(told, step, agents)
        loss = -likely.sum() / likely.shape[1]
        return objective + loss, {**figures, "cross_entropy": loss.detach()}


def _of_right(episodes: TensorEpisodes) -> Tensor:
    """Log-probability of the correct answers, (steps, batch, num_agents); 0 if no answer is due."""
    assert episodes.right is not None
    found = []
    for agent, scores in enumerate(episodes.scores):
        right = episodes.right[..., agent].to(scores.device)
        chosen = scores.log_softmax(-1).gather(-1, right.clamp(min=0)[..., None])[..., 0]
        found.append(chosen.where(right >= 0, 0.0))
    return torch.stack(found, 2)
