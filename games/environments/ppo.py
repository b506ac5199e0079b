"""Proximal policy optimisation (Schulman et al. 2017, arXiv 1707.06347), with the losses of torchrl."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributions import Categorical, Independent
from torch.nn.functional import pad

from ecsuite.agents.message import PAD
from ecsuite.games.channels.channels import Channel, ReinforceChannel
from ecsuite.games.environments.agents import ActingAgents
from ecsuite.games.environments.episodes import TensorEpisodes, of_symbols, played_again
from ecsuite.games.environments.learners import PolicyGradient
from ecsuite.parts.config import Count, Positive, Rate
from ecsuite.runtime.errors import ConfigError, missing_extra

IMPOSSIBLE = -1e9
"""Logit of impossible choices; finite, so that their share of the entropy is 0."""


class PPO(PolicyGradient):
    """Proximal policy optimisation: several updates per batch of episodes, with clipped probability ratios.

    An agent's choice at a step is joint: its action and all symbols of its message. Advantages are generalised
    (GAE, Schulman et al. 2016, arXiv 1506.02438), in standard deviations of a batch; the baseline is the one of
    `policy_gradient`: one value per agent, from the observations of all agents (Yu et al. 2022, arXiv 2103.01955).
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(PolicyGradient.Options):
        """Options of PPO."""

        clip: Positive = 0.2
        """Clipping range: probability ratios outside 1 ± this value bring no gain."""
        trace: Rate = 0.95
        """Lambda of GAE. 0: advantages look one step ahead; 1: to the end of the episode."""
        num_updates: Count = 4
        """Updates per batch of episodes."""

    options: Options
    needs_all = True

    def __init__(self, options: Any, *, agents: ActingAgents, channel: Channel) -> None:
        super().__init__(options, agents=agents, channel=channel)
        if type(channel) is not ReinforceChannel:  # ratios are of the softmax of logits
            raise ConfigError("play.learner: ppo learns symbols like actions: expected channel reinforce")
        try:
            import torchrl.objectives  # noqa: F401
        except ImportError:
            raise missing_extra("learner ppo needs torchrl", "torchrl") from None
        self.num_updates, self.specs = options.num_updates, agents.specs

    def objective(
        self, episodes: TensorEpisodes, step: int, agents: ActingAgents
    ) -> tuple[Tensor, Mapping[str, Tensor]]:
        """See the base class."""
        from tensordict import TensorDict
        from tensordict.nn import (
            ProbabilisticTensorDictModule,
            ProbabilisticTensorDictSequential,
            TensorDictModule,
        )
        from torchrl.objectives import ClipPPOLoss
        from torchrl.objectives.value.functional import generalized_advantage_estimate

        options, (_, spread) = self.options, self.returns(episodes)
        mask = episodes.counts.to(episodes.said)
        known, rewards = self.known(episodes), (episodes.rewards / spread).to(mask)
        over = ~episodes.alive.to(mask.device)
        over = torch.cat([over[1:], torch.ones_like(over[:1])])[..., None].expand_as(mask)
        with torch.no_grad():
            values = self.expected(known)
            after = torch.cat([values[1:], torch.zeros_like(values[:1])])
            advantage, wanted = generalized_advantage_estimate(
                options.discount, options.trace, values, after, rewards, over, time_dim=0
            )
            choices, is_made = self.choices(episodes)
            before = joint(self.logits(episodes, is_made)).log_prob(choices)
        advantage = advantage * mask
        advantage = advantage / ((advantage**2).sum() / mask.sum().clamp(min=1)).sqrt().clamp(min=1e-6)
        actor = ProbabilisticTensorDictSequential(
            TensorDictModule(nn.Identity(), in_keys=["logits"], out_keys=["logits"]),
            ProbabilisticTensorDictModule(
                in_keys=["logits"], out_keys=["action"], distribution_class=joint, return_log_prob=True
            ),
        )
        critic = TensorDictModule(nn.Identity(), in_keys=["expected"], out_keys=["state_value"])
        loss = ClipPPOLoss(
            actor, critic, functional=False, clip_epsilon=options.clip, entropy_coeff=options.entropy,
            critic_coeff=options.baseline_weight, loss_critic_type="l2", reduction="none", device=mask.device,
        )  # fmt: skip
        again = played_again(episodes, agents)
        found = loss(
            TensorDict(
                {
                    "logits": self.logits(again, is_made), "expected": self.expected(known)[..., None],
                    "action": choices, loss.tensor_keys.sample_log_prob: before,
                    "advantage": advantage[..., None], "value_target": wanted[..., None],
                },
                batch_size=mask.shape[:2],
            )
        )  # fmt: skip
        losses = {name: _mean(each, mask) for name, each in found.items() if name.startswith("loss_")}
        objective = torch.stack(list(losses.values())).sum()
        if options.signalling:
            objective = objective - options.signalling * self.signalled(again)
        return objective, {"entropy": found["entropy"], "clipped": found["clip_fraction"]}

    def choices(self, episodes: TensorEpisodes) -> tuple[Tensor, Tensor]:
        """Action and symbols of each agent, and the mask of its choices, (steps, batch, num_agents, 1 + max_len) each.

        Symbols after the end of a message and messages of silent agents are not choices: they are 0.
        """
        words = episodes.words[..., : self.channel.max_len]
        is_idle = ~episodes.counts  # neither action nor message counts
        actions, acts, speaks = (
            each.to(words.device)[..., None]
            for each in (episodes.actions, is_idle | episodes.acting, is_idle | episodes.speaking)
        )
        may_speak = torch.tensor([spec.speaks for spec in self.specs], device=words.device)
        is_said = (words != PAD) & speaks & may_speak[:, None]
        return torch.cat([actions, words.where(is_said, 0)], -1), torch.cat([acts, is_said], -1)

    def logits(self, episodes: TensorEpisodes, is_made: Tensor) -> Tensor:
        """Logits of each agent's choices, (steps, batch, num_agents, 1 + max_len, most choices)."""
        channel, of_agents = self.channel, []
        width = max(channel.symbol_size, *(spec.num_actions for spec in self.specs))
        for spec, scores, said in zip(self.specs, episodes.scores, episodes.logits, strict=True):
            of_message = scores.new_zeros(*scores.shape[:2], channel.max_len, 1)
            if spec.speaks:
                of_message = of_symbols(channel, said, spec.num_symbols).clamp(min=IMPOSSIBLE)
                if not channel.has_eos:
                    of_message = torch.cat(
                        [torch.full_like(of_message[..., :1], IMPOSSIBLE), of_message[..., 1:]], -1
                    )
            both = (
                pad(each, (0, width - each.shape[-1]), value=IMPOSSIBLE)
                for each in (scores[..., None, :], of_message)
            )
            of_agents.append(torch.cat(list(both), -2))
        certain = torch.full((width,), IMPOSSIBLE, device=is_made.device)
        certain[0] = 0
        return torch.stack(of_agents, 2).where(is_made[..., None], certain)


def joint(logits: Tensor) -> Independent[Categorical]:
    """Joint distribution of independent choices with these logits, (..., number, most choices)."""
    return Independent(Categorical(logits=logits), 1)


def _mean(values: Tensor, mask: Tensor) -> Tensor:
    """Mean of the values where the mask is true."""
    return (values.reshape(mask.shape) * mask).sum() / mask.sum().clamp(min=1)
