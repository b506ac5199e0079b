"""Learners of agents that act: policy gradient and Q-learning."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import one_hot

from ecsuite.agents.linear import Linear
from ecsuite.games.channels.channels import Channel, ReinforceChannel
from ecsuite.games.channels.message_builders import of_sampled, without_eos
from ecsuite.games.channels.noise import gumbel, uniform
from ecsuite.games.environments.agents import ActingAgents
from ecsuite.games.environments.environment import Floats
from ecsuite.games.environments.episodes import Choose, TensorEpisodes, of_symbols, played_again
from ecsuite.parts.config import Count, Rate, Share, Weight, require_defaults
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.operations import Arrays
from ecsuite.runtime.recording import external_call


class Learner(nn.Module, ABC):
    """Base class of learners.

    Args:
        options: `Options` of the learner.
        agents: The agents to train.
        channel: Channel of the agents.
    """

    Options: type
    num_updates: int | None = None
    """Updates per batch of episodes, each with a new forward pass; None: one, from outputs of the rollout."""
    needs_all: bool = True
    """Whether the learner needs network outputs at steps where an agent is inactive in every episode."""

    def __init__(self, options: Any, *, agents: ActingAgents, channel: Channel) -> None:
        super().__init__()
        self.options = options

    @abstractmethod
    def chooser(self, generator: torch.Generator) -> Choose:
        """Make the function that chooses actions in training."""

    def probabilities(self, scores: Tensor) -> Tensor:
        """Probabilities of actions after training, from their scores, (batch, num_actions) each."""
        return scores.softmax(-1)

    def begin_step(self, step: int, agents: ActingAgents) -> None:
        """Prepare a training step, counted from 0; called before the step."""
        return

    @abstractmethod
    def objective(
        self, episodes: TensorEpisodes, step: int, agents: ActingAgents
    ) -> tuple[Tensor, Mapping[str, Tensor]]:
        """Objective of a training step, a scalar to minimise, and figures for the log."""


class PolicyGradient(Learner):
    """Policy gradient with a learnt baseline (Williams 1992; Sutton et al. 2000).

    Actions, and symbols of channels trained by the score function, are reinforced by the advantage: the return minus
    the baseline, in standard deviations of the batch. The baseline is a network that in training sees the observations
    of all agents, the meanings of messages, and the step, so that it knows goals that are hidden from agents (a
    centralised critic as in Lowe et al. 2017). In other channels, the gradient of the hearers' actions passes through
    the message to the speaker.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the policy gradient."""

        discount: Rate = 0.95
        """Discount factor of rewards, per step."""
        entropy: Weight = 0.01
        """Weight of the entropy of actions, and of symbols of channels trained by the score function."""
        signalling: Weight = 0.0
        """Weight of positive signalling (Eccles et al. 2019, arXiv 1912.05676), a reward for symbols with high entropy
        over episodes and low entropy in each. Without it, speakers often end with a single message."""
        signalling_of: Literal["observations", "meanings"] = "observations"
        """Condition given which symbols should have a low entropy: the observation, or each attribute of the meaning,
        which the environment provides in training. Use meanings for speakers with rich observations, which may talk
        about any part of them."""
        baseline: Literal["learnt", "none"] = "learnt"
        """none: no baseline. Gradients are noisier and, if mistakes cost more than
        success gains, agents converge more slowly, so that they leave locally optimal languages."""
        baseline_weight: Weight = 1.0
        """Weight of the squared error of the baseline, in units of the variance of returns."""
        baseline_size: Count = 64
        """Width of the two hidden layers of the baseline."""

        def __post_init__(self) -> None:
            """Validate that the given options are read; `ConfigError` if not."""
            if self.baseline == "none":
                require_defaults(self, ("baseline_weight", "baseline_size"), "with baseline=none")
            if not self.signalling:
                require_defaults(self, ("signalling_of",), "with signalling=0")

    options: Options
    needs_all = False

    def __init__(self, options: Any, *, agents: ActingAgents, channel: Channel) -> None:
        super().__init__(options, agents=agents, channel=channel)
        width, specs = options.baseline_size, agents.environment.agents
        num_known = sum(spec.num_features for spec in specs) + len(specs) * len(
            agents.environment.attribute_names
        )
        self.baseline = nn.Sequential(
            Linear(num_known + 1, width),
            nn.Tanh(),
            Linear(width, width),
            nn.Tanh(),
            Linear(width, len(specs)),
        )
        self.channel, self.max_steps = channel, agents.environment.max_steps
        self.specs, self.num_agents = specs, len(specs)
        if options.signalling and channel.is_of_values:
            raise ConfigError("play.learner.signalling: messages of this channel are not symbols: expected 0")

    def chooser(self, generator: torch.Generator) -> Choose:
        """Make the function that samples actions."""
        return lambda scores: (scores.detach() + gumbel(scores.shape, generator, scores.device)).argmax(-1)

    def objective(
        self, episodes: TensorEpisodes, step: int, agents: ActingAgents
    ) -> tuple[Tensor, Mapping[str, Tensor]]:
        """See the base class."""
        returns, spread = self.returns(episodes)
        mask = episodes.counts.to(episodes.said)
        total = mask.sum().clamp(min=1)
        wanted = (returns / spread).to(mask)
        expected = self.expected(self.known(episodes))
        advantage = (wanted - expected.detach()) * mask
        advantage = advantage / ((advantage**2).sum() / total).sqrt().clamp(min=1e-6)
        log_probability, entropy = self.of_choices(episodes)
        policy = -(advantage * log_probability * mask).sum() / total
        error = ((expected - wanted) ** 2 * mask).sum() / total
        mean_entropy = (entropy * mask).sum() / total
        objective = policy - self.options.entropy * mean_entropy
        figures = {"entropy": mean_entropy.detach()}
        if self.options.baseline == "learnt":
            objective = objective + self.options.baseline_weight * error
            figures["value_error"] = error.detach()
        if self.options.signalling:
            objective = objective - self.options.signalling * self.signalled(episodes)
        return objective, figures

    def of_choices(self, episodes: TensorEpisodes) -> tuple[Tensor, Tensor]:
        """Log-probability and entropy of each agent's action and message, (steps, batch, num_agents) each."""
        log_probabilities, entropies = [], []
        for agent, scores in enumerate(episodes.scores):
            chosen, entropy = torch.zeros_like(scores[..., 0]), torch.zeros_like(scores[..., 0])
            if scores.shape[-1] > 1:
                of_all = scores.log_softmax(-1)
                actions = episodes.actions[..., agent].to(scores.device)
                acting = episodes.acting[..., agent].to(scores)
                chosen = of_all.gather(-1, actions[..., None])[..., 0] * acting
                entropy = -(of_all.exp() * of_all).sum(-1) * acting
            if self.channel.has_policy_gradient and self.specs[agent].speaks:
                speaking = episodes.speaking[..., agent].to(scores)
                of_said, entropy_of_said = self._of_messages(episodes, agent)
                chosen, entropy = chosen + of_said * speaking, entropy + speaking * entropy_of_said
            log_probabilities.append(chosen)
            entropies.append(entropy)
        return torch.stack(log_probabilities, 2), torch.stack(entropies, 2)

    def _of_messages(self, episodes: TensorEpisodes, agent: int) -> tuple[Tensor, Tensor]:
        """Log-probability and mean entropy of the messages of an agent, (steps, batch) each."""
        if (
            type(self.channel) is ReinforceChannel
        ):  # all steps at once; a subclass may draw its symbols differently
            logits = of_symbols(self.channel, episodes.logits[agent], self.specs[agent].num_symbols)
            logits = logits if self.channel.has_eos else without_eos(logits)
            return of_sampled(episodes.words[:, :, agent].movedim(2, 0), logits.movedim(2, 0))
        messages = [step[agent] for step in episodes.messages]
        likely, entropy = (
            [getattr(message, name) for message in messages] for name in ("log_probability", "entropy")
        )
        return torch.stack(likely), torch.stack(entropy)

    def returns(self, episodes: TensorEpisodes) -> tuple[Tensor, Tensor]:
        """Discounted return from each step on, (steps, batch, num_agents), and the standard deviation of returns."""

        def summed(rewards: Floats, counts: NDArray[np.bool_]) -> Arrays:
            returns = np.zeros_like(rewards)
            after = np.zeros_like(returns[0])
            for number in reversed(range(len(returns))):
                returns[number] = after = rewards[number] + self.options.discount * after
            spread = max(float(returns[counts].std()), 1e-6) if counts.any() else 1.0
            return returns, np.array(spread)

        returns, spread = external_call(summed, episodes.rewards, episodes.counts)
        return returns, spread

    def signalled(self, episodes: TensorEpisodes) -> Tensor:
        """Entropy of the mean distribution of symbols minus 0.2 times their mean entropy, averaged over speakers.

        The second entropy is of each episode's distribution or, for `meanings`, of the mean distribution over
        episodes with the same attribute value, averaged over attributes. Means are over the episodes at a step, since
        speakers know the step. With a weight of 1 instead of 0.2 this is the mutual information, which has local
        maxima with too few symbols.
        """
        found = []
        for agent, logits in enumerate(episodes.logits):
            if episodes.messages[0][agent] is not None:
                counts = episodes.speaking[..., agent, None, None].to(logits)
                first = 0 if self.channel.has_eos else 1  # silence, EOS first, counts as a symbol
                likely = logits.unflatten(2, (self.channel.max_len, -1))[..., first:].softmax(-1)
                number = counts.sum(1).clamp(min=1)  # (steps, 1, 1)
                gain = number[..., 0] * _entropy((likely * counts).sum(1) / number)
                lost = (_entropy(likely) * counts[..., 0]).sum()
                if self.options.signalling_of == "meanings":
                    values = episodes.meanings[:, :, agent].to(logits.device)
                    lost = torch.stack(
                        [_lost(likely * counts, each, counts) for each in values.unbind(2)]
                    ).mean()
                found.append((gain.sum() - 0.2 * lost) / (counts.sum().clamp(min=1) * self.channel.max_len))
        return torch.stack(found).mean()

    def expected(self, known: Tensor) -> Tensor:
        """Predictions of the baseline, (steps, batch, num_agents); 0 without a baseline."""
        if self.options.baseline == "none":
            return known.new_zeros(*known.shape[:2], self.num_agents)
        expected: Tensor = self.baseline(known)
        return expected

    def known(self, episodes: TensorEpisodes) -> Tensor:
        """Inputs of the baseline, (steps, batch, num_known); its outputs are returns in standard deviations."""
        meanings = episodes.meanings.to(episodes.said).flatten(2)
        step = torch.arange(len(meanings), device=meanings.device) / self.max_steps
        known = [*episodes.seen, meanings, step[:, None, None].expand(*meanings.shape[:2], 1)]
        return torch.cat(known, 2)


def _entropy(likely: Tensor) -> Tensor:
    """Entropy over the last dimension, in nats; its gradient is finite even at 0."""
    summed: Tensor = (likely * likely.clamp(min=torch.finfo(likely.dtype).tiny).log()).sum(-1)
    return -summed


def _lost(likely: Tensor, values: Tensor, counts: Tensor) -> Tensor:
    """Entropy of symbols, (steps, batch, max_len, symbols), given values, (steps, batch), times the message count."""
    (different,) = external_call(lambda each: (np.unique(each),), values)
    is_of = (values[..., None] == different.to(values)).to(counts) * counts[
        ..., 0
    ]  # (steps, batch, num_values)
    number = is_of.sum(1)[..., None]
    mean = torch.einsum("sbv,sblk->svlk", is_of, likely) / number[..., None].clamp(min=1)
    lost: Tensor = (number * _entropy(mean)).sum()
    return lost


class QLearning(Learner):
    """Deep recurrent Q-learning; with the channel `dru` it is DIAL (Foerster et al. 2016, arXiv 1605.06676).

    Scores of actions are expected returns. The target of a score is the reward plus the discounted highest score of the
    next step, from a target network: the agents of some steps ago, with the same inputs. Gradients pass through
    messages to the speaker, one step back. An agent that does not act takes action 0.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of Q-learning."""

        discount: Rate = 1.0
        """Discount factor of rewards, per step."""
        exploration: Share = 0.05
        """Share of actions drawn uniformly in training (epsilon)."""
        refresh_every: Count = 100
        """Training steps between updates of the target network."""

    options: Options

    def __init__(self, options: Any, *, agents: ActingAgents, channel: Channel) -> None:
        super().__init__(options, agents=agents, channel=channel)
        if channel.has_policy_gradient:
            raise ConfigError(
                "play.learner: q_learning: expected a channel with a gradient, such as dru or gumbel, not reinforce"
            )
        self.target = copy.deepcopy(agents).requires_grad_(False)

    def begin_step(self, step: int, agents: ActingAgents) -> None:
        """Copy the weights to the target network every `refresh_every` steps."""
        if step % self.options.refresh_every == 0:
            self.target.load_state_dict(agents.state_dict())

    def probabilities(self, scores: Tensor) -> Tensor:
        """Probability 1 for the action with the highest score."""
        return one_hot(scores.argmax(-1), scores.shape[-1]).to(scores)

    def chooser(self, generator: torch.Generator) -> Choose:
        """Make an epsilon-greedy choice: the best action, or with a small probability a uniform one."""

        def choose(scores: Tensor) -> Tensor:
            drawn = uniform((2, len(scores)), generator, scores.device)
            any_one = (drawn[0] * scores.shape[-1]).long()
            return any_one.where(drawn[1] < self.options.exploration, scores.argmax(-1))

        return choose

    def objective(
        self, episodes: TensorEpisodes, step: int, agents: ActingAgents
    ) -> tuple[Tensor, Mapping[str, Tensor]]:
        """See the base class."""
        alive = episodes.alive.to(episodes.said)
        with torch.no_grad():
            targets = played_again(episodes, self.target)
        errors = []
        for agent, scores in enumerate(episodes.scores):
            actions = episodes.actions[..., agent].to(scores.device)
            rewards = episodes.rewards[..., agent].to(scores)
            later = self._best(targets, agent)
            wanted = rewards + self.options.discount * torch.cat(
                [later[1:] * alive[1:], torch.zeros_like(later[:1])]
            )
            errors.append(((scores.gather(-1, actions[..., None])[..., 0] - wanted) ** 2 * alive).sum())
        loss = torch.stack(errors).sum() / (alive.sum() * len(errors))
        return loss, {"value_error": loss.detach()}

    def _best(self, episodes: TensorEpisodes, agent: int) -> Tensor:
        """Highest score among the possible actions of an agent at each step, (steps, batch)."""
        scores = episodes.scores[agent]
        may_choose = episodes.acting[..., agent].to(scores.device)
        return scores.amax(-1).where(may_choose, scores[..., 0])
